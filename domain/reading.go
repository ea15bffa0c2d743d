package domain

import (
	"fmt"
	"math"
	"strconv"
)

// Reading is one value of a [DataEvent]. A value that is no Binary and not longer than MaxRowText is in Text, as EdgeX
// writes it. Any other stays on the log, at the revision of the event, or, with a Digest, in the payload store.
type Reading struct {
	ID string `json:"id"`
	// Event is the id of the DataEvent.
	Event     string `json:"event,omitempty"`
	Profile   string `json:"profile"`
	Device    string `json:"device"`
	Resource  string `json:"resource"`
	ValueType string `json:"valueType"`
	MediaType string `json:"mediaType,omitempty"`
	Units     string `json:"units,omitempty"`
	// Size is the value's length in bytes, as it was posted.
	Size int64 `json:"size"`
	// Digest is the hex SHA-256 of a value that is kept beside the log; empty for one in the message itself.
	Digest string `json:"digest,omitempty"`
	// Origin is nanoseconds since the Unix epoch.
	Origin int64 `json:"origin"`
	// Text is the value as EdgeX writes it, such as 1.250000e+01. On an event it is as long as it is.
	Text string `json:"text,omitempty"`
}

// MaxRowText is how many bytes of a value's text are state; a longer one is read from the log.
const MaxRowText = 1024

// Binary is the value type of bytes that have no text.
const Binary = "Binary"

// DeviceResourceKey is the value of [IndexDeviceResource] for a resource of a device.
func DeviceResourceKey(device, resource string) string { return device + "/" + resource }

// row is what the state keeps of a reading whose text is text.
func (r Reading) row(text string) Reading {
	if r.ValueType == Binary || r.Digest != "" || len(text) > MaxRowText {
		text = ""
	}
	r.Text = text
	return r
}

// Number returns the number that the value is. ok is false for texts, Bools, arrays, objects and bytes, and for NaN and the infinities. An
// integer of more than 53 bits is rounded.
func (r Reading) Number() (n float64, ok bool) {
	if !IsNumeric(r.ValueType) {
		return 0, false
	}
	n, err := strconv.ParseFloat(r.Text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// IsNumeric reports whether values of a type are numbers.
func IsNumeric(valueType string) bool {
	switch valueType {
	case "Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64", "Float32", "Float64":
		return true
	}
	return false
}

// ReadingPosted records a value that was posted to a resource. Value is the message's payload, byte for byte as it was
// posted; it is empty where Digest is set. Text is empty where Value, or what has the Digest, is the value's text: that is
// kept in place of the posted body where it is too long for a header.
type ReadingPosted struct {
	Reading
	Value []byte
}

// Data returns the value as it is answered: the text of EdgeX, or the bytes of a Binary.
func (e ReadingPosted) Data() []byte {
	if e.Text != "" {
		return []byte(e.Text)
	}
	return e.Value
}

// Evolve records an event with this one reading. Without an Event, as older logs have it, that has the reading's id.
func (e ReadingPosted) Evolve(s State) {
	if e.Event == "" {
		e.Event = e.ID
	}
	var text string
	if e.Text != "" {
		text = e.Text
	} else if len(e.Value) <= MaxRowText {
		text = string(e.Value)
	}
	s.Readings.Put(e.ID, e.row(text))
	s.DataEvents.Put(e.Event, DataEvent{
		ID: e.Event, Profile: e.Profile, Device: e.Device, Source: e.Resource, Origin: e.Origin, Readings: []string{e.ID}, Size: e.Size,
	})
}

// Subject implements Event.
func (e ReadingPosted) Subject() Subject { return Subject{e.Profile, e.Device, e.Resource} }

// ReadingPath is where core-data answers with the bytes of a reading's value.
func ReadingPath(id string) string { return "/api/v2/reading/id/" + id + "/binary" }

func encodeReading(event Event, w Wire) (Wire, error) {
	e := event.(ReadingPosted)
	w.ContentType = e.MediaType
	w.Data = e.Value
	w.Ext = map[string]string{
		"readingid": e.ID, "valuetype": e.ValueType, "origin": fmt.Sprint(e.Origin),
		"size": fmt.Sprint(e.Size),
	}
	for name, value := range map[string]string{"eventid": e.Event, "units": e.Units, "value": e.Text} {
		if value != "" {
			w.Ext[name] = value
		}
	}
	if e.Digest != "" {
		w.Ext["digest"] = e.Digest
		w.Ext["dataref"] = ReadingPath(e.ID) // CloudEvents' extension of that name
	}
	return w, nil
}

// readingAttributes are those that encodeReading writes.
var readingAttributes = []string{"readingid", "eventid", "valuetype", "origin", "size", "units", "value", "digest", "dataref"}

func decodeReading(w Wire) (Event, error) {
	if len(w.Subject) != 3 {
		return nil, fmt.Errorf("decode %s: subject %v has not the three tokens profile, device, resource", w.Type, w.Subject)
	}
	e := ReadingPosted{Reading: Reading{
		ID: w.Ext["readingid"], Event: w.Ext["eventid"], Profile: w.Subject[0], Device: w.Subject[1], Resource: w.Subject[2],
		ValueType: w.Ext["valuetype"], MediaType: w.ContentType, Units: w.Ext["units"], Digest: w.Ext["digest"], Text: w.Ext["value"],
	}, Value: w.Data}
	var err error
	if e.Origin, err = strconv.ParseInt(w.Ext["origin"], 10, 64); err != nil {
		return nil, fmt.Errorf("decode %s: origin %q: %w", w.Type, w.Ext["origin"], err)
	}
	if e.Size, err = strconv.ParseInt(w.Ext["size"], 10, 64); err != nil {
		return nil, fmt.Errorf("decode %s: size %q: %w", w.Type, w.Ext["size"], err)
	}
	return e, nil
}

// PostReading records a posted value that was read with [ReadValue].
type PostReading struct{ Reading ReadingPosted }

// Decide always records: two posts of one value are two readings.
func (c PostReading) Decide(State) (Event, error) { return c.Reading, nil }
