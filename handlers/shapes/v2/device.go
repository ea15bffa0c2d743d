package v2

import (
	"encoding/json"

	"ledge/domain"
	"ledge/handlers"
)

// Device is a device in requests and answers. Its fields are those of domain.Device in the same order, so that one converts to the
// other: a field that is forgotten here does not compile. Notify is taken but not shown, as in EdgeX 2.3.
type Device struct {
	Created        int64           `json:"created,omitempty"`
	Modified       int64           `json:"modified,omitempty"`
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

// AddDevice says that a device is to be added, or was.
type AddDevice struct {
	handlers.Head
	Device Device `json:"device"`
}

// UpdateDevice says how a device is to change, or did: a field that is missing or null stays as it is.
type UpdateDevice struct {
	handlers.Head
	Device DevicePatch `json:"device"`
}

// DevicePatch is the part of a device that changes.
type DevicePatch struct {
	ID             *string                      `json:"id"`
	Name           *string                      `json:"name"`
	Description    *string                      `json:"description"`
	AdminState     *string                      `json:"adminState"`
	OperatingState *string                      `json:"operatingState"`
	LastConnected  *int64                       `json:"lastConnected"`
	LastReported   *int64                       `json:"lastReported"`
	ServiceName    *string                      `json:"serviceName"`
	ProfileName    *string                      `json:"profileName"`
	ProtocolName   *string                      `json:"protocolName"`
	Labels         []string                     `json:"labels"`
	Location       json.RawMessage              `json:"location"`
	AutoEvents     []domain.AutoEvent           `json:"autoEvents"`
	Protocols      map[string]map[string]string `json:"protocols"`
	Notify         *bool                        `json:"notify"`
}

// Entity returns the device that a request describes; its id and times are the caller's.
func (d Device) Entity() domain.Device {
	d.Created, d.Modified = 0, 0
	return domain.Device(d)
}

// OfDevice returns a device as answers show it.
func OfDevice(d domain.Device) Device {
	d.Notify = false
	return Device(d)
}

// Patch returns what a request asks to be changed.
func (d DevicePatch) Patch() domain.DevicePatch {
	return domain.DevicePatch{
		ID: d.ID, Name: d.Name, Description: d.Description, AdminState: d.AdminState, OperatingState: d.OperatingState,
		LastConnected: d.LastConnected, LastReported: d.LastReported, ServiceName: d.ServiceName,
		ProfileName: d.ProfileName, ProtocolName: d.ProtocolName, Labels: d.Labels, Location: d.Location,
		AutoEvents: d.AutoEvents, Protocols: d.Protocols, Notify: d.Notify,
	}
}
