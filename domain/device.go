package domain

import "encoding/json"

// Device is something that sends readings: a camera, a till, a sensor. It belongs to one device service and has the
// shape of one device profile. Its fields have the order of EdgeX 2.3. The tag order gives the order that they have in events.
type Device struct {
	// Created and Modified are milliseconds since the Unix epoch.
	Created        int64  `json:"created" order:"2"`
	Modified       int64  `json:"modified" order:"2"`
	ID             string `json:"id"`
	Name           string `json:"name"`
	Description    string `json:"description,omitempty"`
	AdminState     string `json:"adminState"`
	OperatingState string `json:"operatingState"`
	// LastConnected and LastReported are nanoseconds since the Unix epoch, as the device's service reports them.
	LastConnected int64    `json:"lastConnected,omitempty"`
	LastReported  int64    `json:"lastReported,omitempty"`
	Labels        []string `json:"labels,omitempty"`
	// Location is any JSON value.
	Location    json.RawMessage `json:"location,omitempty"`
	ServiceName string          `json:"serviceName"`
	ProfileName string          `json:"profileName"`
	// ProtocolName is Ledge's own field; EdgeX has only the keys of Protocols.
	ProtocolName string                       `json:"protocolName,omitempty"`
	AutoEvents   []AutoEvent                  `json:"autoEvents,omitempty" order:"1"`
	Protocols    map[string]map[string]string `json:"protocols"`
	Notify       bool                         `json:"notify,omitempty" order:"1"`
}

func (d *Device) checkFields(c *checking) {
	c.checkState("adminState", d.AdminState, StateLocked, StateUnlocked)
	c.checkState("operatingState", d.OperatingState, StateUp, StateDown, StateUnknown)
	c.checkField("serviceName", d.ServiceName, (*Problems).checkName)
	c.checkField("profileName", d.ProfileName, (*Problems).checkName)
	c.checkField("protocolName", d.ProtocolName, (*Problems).checkToken)
	if !c.isPatch() && d.ServiceName == DeviceREST && d.ProtocolName == "" {
		const cure = `is missing; devices of %q need it: add "protocolName":"rest". For clients of EdgeX, which has no such field, ` +
			`name the protocol in the setting default-protocol`
		c.Add("protocolName", cure, DeviceREST)
	}
	c.checkFilled("protocols", len(d.Protocols), "at least one protocol", `, such as {"other":{}}`)
	if len(d.Location) > 0 && !json.Valid(d.Location) {
		c.Add("location", "is no JSON value")
	}
	c.checkAutoEvents(d.AutoEvents)
}

// WithProtocol returns a device with a protocolName, if it is one of device-rest that has none.
func (d Device) WithProtocol(name string) Device {
	if d.ServiceName == DeviceREST && d.ProtocolName == "" {
		d.ProtocolName = name
	}
	return d
}

// WithProtocols returns a device with its protocol, without properties, in Protocols, if that is empty. For device-rest the protocol is
// rest if none is named. A device of another service without a protocolName stays as it is: its service needs properties.
func (d Device) WithProtocols() Device {
	if d = d.WithProtocol("rest"); len(d.Protocols) == 0 && d.ProtocolName != "" {
		d.Protocols = map[string]map[string]string{d.ProtocolName: {}}
	}
	return d
}

// Check notes what is wrong with a device on its own; whether its profile and service exist is Decide's question.
func (d Device) Check() Problems {
	c := newChecking(d.ID, d.Name)
	d.checkFields(&c)
	return c.Problems
}

// AutoEvent asks the device service to read SourceName at each Interval.
type AutoEvent struct {
	Interval   string `json:"interval"`
	OnChange   bool   `json:"onChange"`
	SourceName string `json:"sourceName"`
}

func (p *Problems) checkAutoEvents(list []AutoEvent) {
	for i, a := range list {
		var inner Problems
		inner.checkDuration("interval", a.Interval)
		inner.checkText("sourceName", a.SourceName)
		if len(inner) > 0 {
			p.In(at("autoEvents", i), inner)
		}
	}
}

// The states of devices, services and subscriptions.
const (
	StateLocked   = "LOCKED"
	StateUnlocked = "UNLOCKED"
	StateUp       = "UP"
	StateDown     = "DOWN"
	StateUnknown  = "UNKNOWN"
)
