package main

import (
	"encoding/json"
	"fmt"
	"time"

	"ledge/domain"

	"github.com/google/uuid"
)

// The names that devices refer to. Those of the HTTP sections come with Ledge.
const (
	serviceName = domain.DeviceREST
	profileName = "sample-image"
)

func deviceName(n int) string { return fmt.Sprintf("camera-%07d", n) }

// device is a device as they are in the field.
func device(n int) domain.Device {
	return domain.Device{
		Name: deviceName(n), Description: fmt.Sprint("Camera above lane ", n%40), AdminState: domain.StateUnlocked,
		OperatingState: domain.StateUp, Labels: []string{"camera", fmt.Sprint("site-", n%100)},
		Location:    json.RawMessage(fmt.Sprintf(`{"building":"B%d","level":%d}`, n%10, n%4)),
		ServiceName: serviceName, ProfileName: profileName, ProtocolName: "rest",
		Protocols:  map[string]map[string]string{"other": {"Address": fmt.Sprintf("10.0.%d.%d", n/250%250, n%250), "Port": "300"}},
		AutoEvents: []domain.AutoEvent{{Interval: "30s", SourceName: "jpeg"}},
	}
}

// element is one device of a POST.
type element struct {
	APIVersion string        `json:"apiVersion"`
	RequestID  string        `json:"requestId,omitempty"`
	Device     domain.Device `json:"device"`
}

// deviceBody is the body of a POST with some devices.
func deviceBody(first, n int) []byte {
	list := make([]element, n)
	for i := range list {
		list[i] = element{APIVersion: "v2", Device: device(first + i)}
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // of our own making
	}
	return b
}

// addRequests are the commands that add some devices, with some labels more, as the handlers make them.
func addRequests(first, n int, labels ...string) []domain.Request {
	list, at := make([]domain.Request, n), time.Now().UnixMilli()
	for i := range list {
		d := device(first + i)
		d.ID, d.Created, d.Modified, d.Labels = newID(), at, at, append(d.Labels, labels...)
		list[i] = request(domain.AddDevice{Device: d})
	}
	return list
}

// base are the commands for what devices refer to.
func base() []domain.Request {
	return []domain.Request{
		request(domain.AddService{Service: domain.DeviceService{
			ID: newID(), Name: serviceName, AdminState: domain.StateUnlocked, BaseAddress: "http://localhost:59986",
		}}),
		request(domain.AddProfile{Profile: domain.Profile{ID: newID(), Name: profileName, DeviceResources: []domain.DeviceResource{
			{Name: "jpeg", Properties: domain.ResourceProperties{ValueType: "Binary", ReadWrite: "R", MediaType: "image/jpeg"}},
		}}}),
	}
}

func request(c domain.Command) domain.Request {
	return domain.Request{Command: c, Stamp: domain.Stamp{
		EventID: newID(), At: time.Now().UTC(), Actor: "anonymous@127.0.0.1", Origin: "127.0.0.1:50000", CorrelationID: newID(),
	}}
}

// newID makes ids as the API does.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
