package domain

import (
	"encoding/json"
	"fmt"
	"testing"
)

// One of everything, as it stands in these tests. Each call makes new values, so that no test sees another's changes.

const (
	profileID      = "6f1de7c0-0000-4000-8000-000000000001"
	serviceID      = "6f1de7c0-0000-4000-8000-000000000002"
	cameraID       = "6f1de7c0-0000-4000-8000-000000000003"
	subscriptionID = "6f1de7c0-0000-4000-8000-000000000004"
	noticeID       = "6f1de7c0-0000-4000-8000-000000000005"
	raisedID       = "6f1de7c0-0000-4000-8000-000000000006"
	watcherID      = "6f1de7c0-0000-4000-8000-000000000007"
	otherID        = "6f1de7c0-0000-4000-8000-00000000000f"

	created = 1_700_000_000_000
	later   = created + 60_000
)

// fields are the names and values for [PatchOf].
type fields []any

func imageProfile() Profile {
	return Profile{
		ID: profileID, Name: "image", Created: created, Modified: created,
		DeviceResources: []DeviceResource{
			{Name: "jpeg", Properties: ResourceProperties{ValueType: "Binary", ReadWrite: "R", MediaType: "image/jpeg"}},
			{Name: "zoom", Properties: ResourceProperties{ValueType: "Uint8", ReadWrite: "RW"}},
		},
		DeviceCommands: []DeviceCommand{
			{Name: "adjust", ReadWrite: "W", ResourceOperations: []ResourceOperation{{DeviceResource: "zoom", DefaultValue: "1"}}},
		},
	}
}

func restService() DeviceService {
	return DeviceService{
		ID: serviceID, Name: DeviceREST, BaseAddress: "http://localhost:59986", AdminState: StateUnlocked,
		Created: created, Modified: created,
	}
}

func camera() Device {
	return Device{
		ID: cameraID, Name: "cam-1", AdminState: StateUnlocked, OperatingState: StateUp, Labels: []string{"indoor"},
		ServiceName: DeviceREST, ProfileName: "image", ProtocolName: "rest",
		Protocols: map[string]map[string]string{"other": {}}, Created: created, Modified: created,
	}
}

func finder() ProvisionWatcher {
	return ProvisionWatcher{
		ID: watcherID, Name: "finder", Labels: []string{"onvif"}, Identifiers: map[string]string{"address": "10[.]0[.]0[.].*"},
		BlockingIdentifiers: map[string][]string{"port": {"22", "23"}}, ServiceName: DeviceREST, ProfileName: "image",
		AdminState: StateUnlocked, Created: created, Modified: created,
	}
}

func anna() User {
	return User{Name: "anna", Role: Admin, Credential: "c-1", Created: created, Modified: created}
}

func till() Token {
	return Token{Name: "pos-7", Role: Poster, Devices: []string{"cam-*"}, Credential: "c-2", Expires: later, Created: created}
}

func zeroMQ() Channel {
	return Channel{Type: ChannelZeroMQ, Host: "*", Port: 5566, Topic: "device-changed"}
}

func gate() Subscription {
	return Subscription{
		ID: subscriptionID, Name: "gate", Receiver: "guards", Channels: []Channel{zeroMQ()},
		Categories: []string{DeviceChanged}, AdminState: StateUnlocked, Created: created, Modified: created,
	}
}

func notice() Notification {
	return Notification{
		ID: noticeID, Category: DeviceChanged, Content: `{"deviceName":"cam-1"}`, ContentType: "application/json",
		Sender: "core-metadata", Severity: SeverityNormal, Status: StatusNew, Created: created, Modified: created,
	}
}

func transmission() Transmission {
	return Transmission{
		ID: otherID, NotificationID: noticeID, SubscriptionName: "gate", Channel: zeroMQ(), Status: StatusSent,
		Records: []TransmissionRecord{{Status: StatusSent, Response: "1 subscriber", Sent: later}}, Created: later,
	}
}

// raisedNotice is what the device change at 5 raised.
func raisedNotice() NotificationsRaised {
	n := with(notice(), func(n *Notification) { n.ID, n.Cause, n.Status = raisedID, 5, StatusProcessed })
	return NotificationsRaised{Raised: []Raised{{Notification: n, Transmissions: []Transmission{transmission()}, CorrelationID: "c-1"}}}
}

func picture() ReadingPosted {
	return ReadingPosted{Reading: Reading{
		ID: otherID, Profile: "image", Device: "cam-1", Resource: "jpeg", ValueType: "Binary", MediaType: "image/jpeg",
		Size: 4, Origin: created * 1_000_000,
	}, Value: []byte{0xff, 0xd8, 0xff, 0xd9}}
}

// climate is an event of a device service with a number, an object and a picture.
func climate() DataEventAdded {
	reading := func(n int, resource, valueType string) Reading {
		return Reading{
			ID: fmt.Sprintf("6f1de7c0-0000-4000-8000-0000000001%02x", n), Profile: "climate", Device: "hall", Resource: resource,
			ValueType: valueType, Origin: created*1_000_000 + int64(n),
		}
	}
	temperature, state, image := reading(1, "temperature", "Float32"), reading(2, "state", "Object"), reading(3, "image", Binary)
	temperature.Text, temperature.Units, temperature.Size = "2.150000e+01", "°C", 12
	state.Size, image.Size, image.MediaType = 10, 4, "image/jpeg"
	return DataEventAdded{
		Event: DataEvent{
			ID: noticeID, Profile: "climate", Device: "hall", Source: "everything", Origin: created * 1_000_000,
			Tags: json.RawMessage(`{"site":"north"}`),
		},
		Readings: []ReadingValue{
			{Reading: temperature}, {Reading: state, Object: json.RawMessage(`{"fan":"on"}`)}, {Reading: image, Data: []byte{0xff, 0xd8, 0xff, 0xd9}},
		},
	}
}

// catalogue is a profile and a service: what a device needs.
func catalogue() []Event {
	return []Event{ProfileAdded{Profile: imageProfile()}, ServiceAdded{Service: restService()}}
}

// onboarded is the catalogue with a camera.
func onboarded() []Event { return append(catalogue(), DeviceAdded{Device: camera()}) }

// reread returns e as it comes back from the log.
func reread(t *testing.T, e Event) Event {
	t.Helper()
	again, err := Decode(mustEncode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	return again
}
