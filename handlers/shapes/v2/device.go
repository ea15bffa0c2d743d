package v2

import (
	"encoding/json"

	"ledge/domain"
)

// Device is a device in requests and answers. Its fields are those of domain.Device in the same order, so that one converts to the
// other: a field that is forgotten here does not compile. Notify is taken but not shown, as in EdgeX 2.3.
type Device struct {
	Created        int64           `json:"created,omitempty" patch:"-"`
	Modified       int64           `json:"modified,omitempty" patch:"-"`
	ID             string          `json:"id,omitempty"`
	Name           string          `json:"name"`
	Description    string          `json:"description,omitempty"`
	AdminState     string          `json:"adminState"`
	OperatingState string          `json:"operatingState"`
	LastConnected  int64           `json:"lastConnected,omitempty"`
	LastReported   int64           `json:"lastReported,omitempty"`
	Labels         []string        `json:"labels,omitempty"`
	Location       json.RawMessage `json:"location,omitempty"`
	ServiceName    string          `json:"serviceName"`
	ProfileName    string          `json:"profileName"`
	// ProtocolName is in the specification, not in EdgeX.
	ProtocolName string                       `json:"protocolName,omitempty"`
	AutoEvents   []domain.AutoEvent           `json:"autoEvents,omitempty"`
	Protocols    map[string]map[string]string `json:"protocols"`
	Notify       bool                         `json:"notify,omitempty"`
}

// Entity returns the device that a request describes; its id and times are the caller's.
func (d Device) Entity() domain.Device { return domain.Device(d) }

// OfDevice returns a device as answers show it.
func OfDevice(d domain.Device) Device {
	d.Notify = false
	return Device(d)
}
