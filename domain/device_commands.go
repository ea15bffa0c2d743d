package domain

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"ledge/domain/fastjson"
)

// Check notes what is wrong with a device on its own; whether its profile and service exist is Decide's question.
func (d Device) Check() Problems {
	var p Problems
	p.checkID("id", d.ID)
	p.checkName("name", d.Name)
	p.checkOneOf("adminState", d.AdminState, StateLocked, StateUnlocked)
	p.checkOneOf("operatingState", d.OperatingState, StateUp, StateDown, StateUnknown)
	p.checkName("serviceName", d.ServiceName)
	p.checkName("profileName", d.ProfileName)
	p.checkToken("protocolName", d.ProtocolName)
	if d.ServiceName == DeviceREST && d.ProtocolName == "" {
		p.Add("protocolName", `is missing; devices of %q need it: add "protocolName":"rest"`, DeviceREST)
	}
	if len(d.Protocols) == 0 {
		p.Add("protocols", `is missing or empty; give at least one protocol, such as {"other":{}}`)
	}
	if len(d.Location) > 0 && !json.Valid(d.Location) {
		p.Add("location", "is no JSON value")
	}
	p.checkAutoEvents(d.AutoEvents)
	return p
}

func (p *Problems) checkAutoEvents(list []AutoEvent) {
	for i, a := range list {
		if inner := a.check(); len(inner) > 0 {
			p.In(at("autoEvents", i), inner)
		}
	}
}

func (a AutoEvent) check() (p Problems) {
	p.checkDuration("interval", a.Interval)
	p.checkText("sourceName", a.SourceName)
	return p
}

// AddDevice adds a device. Device carries its id and times.
type AddDevice struct{ Device Device }

// Decide refuses a device that is wrong in itself, whose name or id is taken, or whose service or profile is missing.
func (c AddDevice) Decide(s State) (Event, error) {
	if err := c.Device.Check().Err(); err != nil {
		return nil, err
	}
	c.Device.Location = normalize(c.Device.Location)
	if err := checkFree(s, "device", c.Device.Name, c.Device.ID, has(s.Devices)); err != nil {
		return nil, err
	}
	if err := checkReferences(s, "device", c.Device.Name, c.Device.ServiceName, c.Device.ProfileName); err != nil {
		return nil, err
	}
	return DeviceAdded(c), nil
}

// DevicePatch changes the fields that are not nil of the device that ID or Name, or both, name.
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

// Apply returns d with the patch's fields.
func (c DevicePatch) Apply(d Device) Device {
	set(&d.Description, c.Description)
	set(&d.AdminState, c.AdminState)
	set(&d.OperatingState, c.OperatingState)
	set(&d.LastConnected, c.LastConnected)
	set(&d.LastReported, c.LastReported)
	set(&d.ServiceName, c.ServiceName)
	set(&d.ProfileName, c.ProfileName)
	set(&d.ProtocolName, c.ProtocolName)
	set(&d.Notify, c.Notify)
	if c.Labels != nil {
		d.Labels = c.Labels
	}
	if c.AutoEvents != nil {
		d.AutoEvents = c.AutoEvents
	}
	if c.Protocols != nil {
		d.Protocols = c.Protocols
	}
	if location := normalize(c.Location); location != nil && !equalJSON(location, d.Location) {
		d.Location = location
	}
	return d
}

// equalJSON reports whether two JSON texts are one value, whatever the order of its members; a number is its digits.
func equalJSON(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || len(b) > 0 && reflect.DeepEqual(decodeJSON(a), decodeJSON(b))
}

func decodeJSON(text json.RawMessage) (value any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&value) // both texts are values that were checked
	return value
}

var anyJSON = fastjson.Of[json.RawMessage]()

// normalize returns a JSON value in the form in which the log gives it back; nil for none and for null. What is no UTF-8
// becomes U+FFFD, as in texts: who reads the device could not go on.
func normalize(value json.RawMessage) json.RawMessage {
	if !utf8.Valid(value) {
		value = bytes.ToValidUTF8(value, []byte("\ufffd"))
	}
	text, err := anyJSON.Append(nil, &value) // compacts and escapes
	if err != nil || string(text) == "null" {
		return nil
	}
	return text
}

// Check notes what is wrong with the patch before the device is known.
func (c DevicePatch) Check() Problems {
	var p Problems
	p.checkTarget(c.ID, c.Name)
	optional(&p, "adminState", c.AdminState, func(p *Problems, path, v string) {
		p.checkOneOf(path, v, StateLocked, StateUnlocked)
	})
	optional(&p, "operatingState", c.OperatingState, func(p *Problems, path, v string) {
		p.checkOneOf(path, v, StateUp, StateDown, StateUnknown)
	})
	optional(&p, "serviceName", c.ServiceName, (*Problems).checkName)
	optional(&p, "profileName", c.ProfileName, (*Problems).checkName)
	optional(&p, "protocolName", c.ProtocolName, (*Problems).checkToken)
	if c.Protocols != nil && len(c.Protocols) == 0 {
		p.Add("protocols", `is empty; give at least one protocol, or leave it out to keep what is there`)
	}
	p.checkAutoEvents(c.AutoEvents)
	return p
}

// UpdateDevice patches a device. At is the new modified time, in milliseconds since the Unix epoch.
type UpdateDevice struct {
	Patch DevicePatch
	At    int64
}

// Decide refuses a patch that is wrong, or that names no device or a missing service or profile; one that changes
// nothing makes no event.
func (c UpdateDevice) Decide(s State) (Event, error) {
	if err := c.Patch.Check().Err(); err != nil {
		return nil, err
	}
	old, err := find(s, "device", c.Patch.ID, c.Patch.Name, s.Devices)
	if err != nil {
		return nil, err
	}
	d := c.Patch.Apply(old)
	if err := d.Check().Err(); err != nil {
		return nil, err
	}
	if err := checkReferences(s, "device", d.Name, d.ServiceName, d.ProfileName); err != nil {
		return nil, err
	}
	u, ok, err := updateOf(s.Devices, d.Name, old, d, c.At)
	if !ok || err != nil {
		return nil, err
	}
	u.effort = len(d.Location)
	return DevicePatched{u}, nil
}

// RemoveDevice removes the device called Name.
type RemoveDevice struct{ Name string }

// Decide refuses a name that does not exist.
func (c RemoveDevice) Decide(s State) (Event, error) {
	d, ok := s.Devices.Get(c.Name)
	if !ok {
		return nil, Errorf(NotFound, "device %q does not exist; correct the name", c.Name)
	}
	return DeviceRemoved{Device: d}, nil
}

// equal is reflect.DeepEqual, without copies of what is no list or map.
func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String, reflect.Bool, reflect.Int64:
		return a.Equal(b)
	default:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
}
