package domain

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"ledge/domain/fastjson"
)

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
	return DeviceAdded{c.Device, lastRemoval(s, "device", c.Device.Name)}, nil
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

// UpdateDevice patches a device. At is the new modified time, in milliseconds since the Unix epoch. Protocol is the protocolName of a
// device that comes to device-rest without one; "" refuses it.
type UpdateDevice struct {
	Patch    Patch[Device]
	At       int64
	Protocol string
}

// Decide refuses a patch that is wrong, or that names no device or a missing service or profile; one that changes
// nothing makes no event.
func (c UpdateDevice) Decide(s State) (Event, error) {
	old, d, err := patchEntity(s, "device", c.Patch, s.Devices)
	if err != nil {
		return nil, err
	}
	d = d.WithProtocol(c.Protocol)
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

// Key returns the name of the device that the patch is for, "" if there is none.
func (c UpdateDevice) Key(s State) string {
	id, name := c.Patch.idAndName()
	key, _ := keyOf(s, "device", id, name) // Decide says what is wrong
	return key
}

// RemoveDevice removes the device called Name.
type RemoveDevice struct{ Name string }

// Decide refuses a name that does not exist.
func (c RemoveDevice) Decide(s State) (Event, error) {
	d, ok := s.Devices.Get(c.Name)
	if !ok {
		return nil, Errorf(NotFound, "device %q does not exist; correct the name", c.Name)
	}
	return DeviceRemoved{d, Revision(s.Devices, d.Name)}, nil
}

// equal is reflect.DeepEqual, without copies of what is not a list or map.
func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String, reflect.Bool, reflect.Int64:
		return a.Equal(b)
	default:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
}

// RecordCommand records a command to a device: a request to write to it.
type RecordCommand struct{ Issued CommandIssued }

// Decide never refuses: a request that Ledge does not send is on record too. It names the event before it of the device's commands.
func (c RecordCommand) Decide(s State) (Event, error) {
	e := c.Issued
	e.Value, e.Prev = normalize(e.Value), LastCommand(s, e.Device)
	return e, nil
}

// RecordAnswer records the outcome of a command.
type RecordAnswer struct{ Answered CommandAnswered }

// Decide never refuses: the command was sent. It names the event before it of the device's commands.
func (c RecordAnswer) Decide(s State) (Event, error) {
	e := c.Answered
	e.Prev = LastCommand(s, e.Device)
	return e, nil
}
