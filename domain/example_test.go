package domain_test

import (
	"fmt"

	"ledge/domain"
)

// Given the events that happened, when a command is decided, then there is one event, or an error that says what to do.
func ExampleAddDevice() {
	state := domain.NewMapState()
	for _, e := range []domain.Event{
		domain.ServiceAdded{Service: domain.DeviceService{Name: "device-rest"}},
		domain.ProfileAdded{Profile: domain.Profile{Name: "sample-image"}},
	} {
		e.Evolve(state)
	}

	camera := domain.Device{
		ID: "6f1de7c0-0000-4000-8000-000000000003", Name: "cam-1", AdminState: "UNLOCKED", OperatingState: "UP",
		ServiceName: "device-rest", ProfileName: "sample-imgae", ProtocolName: "rest",
		Protocols: map[string]map[string]string{"other": {}},
	}
	_, err := domain.AddDevice{Device: camera}.Decide(state)
	fmt.Println(err)

	camera.ProfileName = "sample-image"
	event, _ := domain.AddDevice{Device: camera}.Decide(state)
	fmt.Println(event.Subject())

	event.Evolve(state)
	_, err = domain.RemoveProfile{Name: "sample-image"}.Decide(state)
	fmt.Println(domain.CodeOf(err) == domain.Conflict)
	// Output:
	// device "cam-1": device profile "sample-imgae" does not exist; upload it first or correct profileName
	// [device cam-1 added]
	// true
}

// A body is read as the resource that it is posted to has it.
func ExampleReadValue() {
	jpeg := domain.DeviceResource{Name: "jpeg", Properties: domain.ResourceProperties{ValueType: "Binary", MediaType: "image/jpeg"}}
	zoom := domain.DeviceResource{Name: "zoom", Properties: domain.ResourceProperties{ValueType: "Float32", Scale: "2"}}
	camera := domain.Profile{DeviceResources: []domain.DeviceResource{jpeg, zoom}}

	v, _ := domain.ReadValue(camera, jpeg, "image/jpeg; quality=80", []byte("\xff\xd8\xff\xd9"))
	fmt.Println(v.MediaType)
	_, err := domain.ReadValue(camera, jpeg, "image/png", []byte("\x89PNG"))
	fmt.Println(err)
	v, _ = domain.ReadValue(camera, zoom, "", []byte("12.5"))
	fmt.Println(v.Type, v.Text)
	v, _ = domain.ReadValue(camera, zoom, "", []byte("3e38"))
	fmt.Println(v.Type, v.Text)
	_, err = domain.ReadValue(camera, zoom, "", []byte("far"))
	fmt.Println(err)
	// Output:
	// image/jpeg
	// resource "jpeg": wrong Content-Type: expected "image/jpeg" but received "image/png"
	// Float32 2.500000e+01
	// String overflow
	// resource "zoom": "far" is no Float32; write one value in plain text
}
