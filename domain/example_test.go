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

// A body is checked against the resource that it is posted to.
func ExampleCheckValue() {
	jpeg := domain.DeviceResource{Name: "jpeg", Properties: domain.ResourceProperties{ValueType: "Binary", MediaType: "image/jpeg"}}
	zoom := domain.DeviceResource{Name: "zoom", Properties: domain.ResourceProperties{ValueType: "Uint8"}}

	mediaType, _ := domain.CheckValue(jpeg, "image/jpeg; quality=80", []byte("\xff\xd8\xff\xd9"))
	fmt.Println(mediaType)
	_, err := domain.CheckValue(jpeg, "image/png", []byte("\x89PNG"))
	fmt.Println(err)
	mediaType, _ = domain.CheckValue(zoom, "", []byte("0x1F"))
	fmt.Println(mediaType)
	_, err = domain.CheckValue(zoom, "", []byte("300"))
	fmt.Println(err)
	// Output:
	// image/jpeg
	// resource "jpeg": wrong Content-Type: expected "image/jpeg" but received "image/png"
	// text/plain
	// resource "zoom": "300" is no Uint8; the value is out of the type's range
}
