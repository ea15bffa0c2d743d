package shapes

import (
	"encoding/json"

	"ledge/domain"
	"ledge/handlers"
)

// Device is a device in requests and answers. Notify is taken but not shown, as in EdgeX 2.3.
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
	AutoEvents   []AutoEvent                  `json:"autoEvents,omitempty"`
	Protocols    map[string]map[string]string `json:"protocols"`
	Notify       bool                         `json:"notify,omitempty"`
}

// AutoEvent is one of a device or a provision watcher.
type AutoEvent struct {
	Interval   string `json:"interval"`
	OnChange   bool   `json:"onChange"`
	SourceName string `json:"sourceName"`
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
	AutoEvents     []AutoEvent                  `json:"autoEvents"`
	Protocols      map[string]map[string]string `json:"protocols"`
	Notify         *bool                        `json:"notify"`
}

// Entity returns the device that a request describes; its id and times are the caller's.
func (d Device) Entity() domain.Device {
	return domain.Device{
		ID: d.ID, Name: d.Name, Description: d.Description, AdminState: d.AdminState, OperatingState: d.OperatingState,
		LastConnected: d.LastConnected, LastReported: d.LastReported, Labels: d.Labels, Location: d.Location,
		ServiceName: d.ServiceName, ProfileName: d.ProfileName, ProtocolName: d.ProtocolName, Protocols: d.Protocols,
		AutoEvents: autoEvents(d.AutoEvents), Notify: d.Notify,
	}
}

// OfDevice returns a device as answers show it.
func OfDevice(d domain.Device) Device {
	return Device{
		Created: d.Created, Modified: d.Modified, ID: d.ID, Name: d.Name, Description: d.Description,
		AdminState: d.AdminState, OperatingState: d.OperatingState, LastConnected: d.LastConnected,
		LastReported: d.LastReported, Labels: d.Labels, Location: d.Location, ServiceName: d.ServiceName,
		ProfileName: d.ProfileName, ProtocolName: d.ProtocolName, AutoEvents: shapeAutoEvents(d.AutoEvents),
		Protocols: d.Protocols,
	}
}

// Patch returns what a request asks to be changed.
func (d DevicePatch) Patch() domain.DevicePatch {
	return domain.DevicePatch{
		ID: d.ID, Name: d.Name, Description: d.Description, AdminState: d.AdminState, OperatingState: d.OperatingState,
		LastConnected: d.LastConnected, LastReported: d.LastReported, ServiceName: d.ServiceName,
		ProfileName: d.ProfileName, ProtocolName: d.ProtocolName, Labels: d.Labels, Location: d.Location,
		AutoEvents: autoEvents(d.AutoEvents), Protocols: d.Protocols, Notify: d.Notify,
	}
}

// autoEvents keeps the difference between none given and an empty list, which matters to a patch.
func autoEvents(shapes []AutoEvent) []domain.AutoEvent {
	if shapes == nil {
		return nil
	}
	events := make([]domain.AutoEvent, len(shapes))
	for i, s := range shapes {
		events[i] = domain.AutoEvent(s)
	}
	return events
}

func shapeAutoEvents(events []domain.AutoEvent) []AutoEvent {
	shapes := make([]AutoEvent, len(events))
	for i, e := range events {
		shapes[i] = AutoEvent(e)
	}
	return shapes
}
