package edgex

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"ledge/domain"
)

// eventSubjects begins the subjects of the events of device services.
const eventSubjects = "edgex.events.device."

// source names the origin of an event.
type source struct{ profile, device, resource string }

// sourceOf returns the source of the last three levels of a subject, in which names may be percent-encoded. Two slashes are a point, which
// MQTT clients may have in a name. EdgeX 3 and 4 have the name of the device service before them.
func sourceOf(subject string) (source, error) {
	levels := strings.Split(strings.TrimPrefix(subject, eventSubjects), ".")
	if len(levels) < 3 {
		return source{}, fmt.Errorf("the topic has %d levels after edgex/events/device; use a profile, a device and a source", len(levels))
	}
	levels = levels[len(levels)-3:]
	for i, level := range levels {
		name, err := url.PathUnescape(strings.ReplaceAll(level, "//", "."))
		if err != nil || name == "" {
			return source{}, fmt.Errorf("the topic has the level %.80q, which is not a name", level)
		}
		levels[i] = name
	}
	return source{levels[0], levels[1], levels[2]}, nil
}

// path is the path of core-data to which an event is posted.
func (s source) path() string {
	return "/api/v2/event/" + url.PathEscape(s.profile) + "/" + url.PathEscape(s.device) + "/" + url.PathEscape(s.resource)
}

// addEvent is the AddEventRequest of API v2 and v3. R is a value that stays as it is.
type addEvent[R ~[]byte] struct {
	APIVersion string   `json:"apiVersion"`
	RequestID  string   `json:"requestId,omitempty"`
	Event      event[R] `json:"event"`
}

type event[R ~[]byte] struct {
	APIVersion  string `json:"apiVersion"`
	ID          string `json:"id"`
	DeviceName  string `json:"deviceName"`
	ProfileName string `json:"profileName"`
	SourceName  string `json:"sourceName"`
	Origin      R      `json:"origin,omitempty"`
	Tags        R      `json:"tags,omitempty"`
	Readings    []R    `json:"readings"`
}

// reading has no tags: API v2 has none.
type reading[R ~[]byte] struct {
	ID           string `json:"id,omitempty"`
	Origin       R      `json:"origin,omitempty"`
	DeviceName   string `json:"deviceName"`
	ResourceName string `json:"resourceName"`
	ProfileName  string `json:"profileName"`
	ValueType    string `json:"valueType"`
	Units        string `json:"units,omitempty"`
	BinaryValue  R      `json:"binaryValue,omitempty"`
	MediaType    string `json:"mediaType,omitempty"`
	Value        R      `json:"value,omitempty"`
	ObjectValue  R      `json:"objectValue,omitempty"`
}

// format decodes and encodes values in JSON or CBOR.
type format[R ~[]byte] struct {
	decode func([]byte, any) error
	encode func(any) ([]byte, error)
	textOf func(R) (R, error) // returns a value as a string
}

var (
	ofJSON = format[json.RawMessage]{json.Unmarshal, json.Marshal, textOfJSON}
	ofCBOR = format[cbor.RawMessage]{decodeCBOR, cbor.Marshal, textOfCBOR}
)

// toV2 returns an AddEventRequest of API v3 as API v2 has it. A value that is a number becomes a text, and a reading without a value, which
// EdgeX 4.0 calls null, is left out.
func toV2(e envelope) ([]byte, error) {
	if e.contentType == typeCBOR {
		return ofCBOR.toV2(e.payload)
	}
	return ofJSON.toV2(e.payload)
}

func (f format[R]) toV2(payload []byte) ([]byte, error) {
	var request addEvent[R]
	if err := f.decode(payload, &request); err != nil {
		return nil, fmt.Errorf("the payload is not an AddEventRequest: %w", err)
	}
	readings := request.Event.Readings
	if len(readings) > domain.MaxReadings {
		return nil, fmt.Errorf("event.readings: has %d entries; use at most %d", len(readings), domain.MaxReadings)
	}
	for _, version := range []*string{&request.APIVersion, &request.Event.APIVersion} {
		if *version == "v3" {
			*version = "v2"
		}
	}
	request.Event.Readings = readings[:0]
	for i, r := range readings {
		text, err := f.readingToV2(r)
		if err != nil {
			return nil, fmt.Errorf("event.readings[%d]: %w", i, err)
		}
		if text != nil {
			request.Event.Readings = append(request.Event.Readings, text)
		}
	}
	return f.encode(request)
}

// readingToV2 returns nil for a reading without a value.
func (f format[R]) readingToV2(text R) (R, error) {
	var r reading[R]
	if err := f.decode(text, &r); err != nil {
		return nil, err
	}
	for _, value := range []*R{&r.Value, &r.BinaryValue, &r.ObjectValue} {
		if isNull(*value) {
			*value = nil
		}
	}
	switch {
	case r.Value != nil:
		value, err := f.textOf(r.Value)
		if err != nil {
			return nil, fmt.Errorf("value: %w", err)
		}
		r.Value = value
	case r.BinaryValue == nil && r.ObjectValue == nil:
		return nil, nil
	}
	return f.encode(r)
}

// isNull reports whether a value is missing or null, in JSON or in CBOR.
func isNull[R ~[]byte](value R) bool {
	text := string(value)
	return text == "" || text == "null" || text == "\xf6"
}

// textOfJSON returns a value as a string of JSON.
func textOfJSON(value json.RawMessage) (json.RawMessage, error) {
	switch value[0] {
	case '"':
		return value, nil
	case '{', '[':
		return nil, fmt.Errorf("%.80s is not a number or a text", value)
	}
	return json.RawMessage(`"` + string(value) + `"`), nil
}

// textOfCBOR returns a value as a string of CBOR. Floats are as EdgeX 2.3 writes them.
func textOfCBOR(value cbor.RawMessage) (cbor.RawMessage, error) {
	var v any
	if err := decodeCBOR(value, &v); err != nil {
		return nil, err
	}
	var text string
	switch v := v.(type) {
	case string:
		return value, nil
	case uint64, int64, bool:
		text = fmt.Sprint(v)
	case float64:
		text = strconv.FormatFloat(v, 'e', -1, 64)
	default:
		return nil, fmt.Errorf("%T is not a number or a text", v)
	}
	return cbor.Marshal(text)
}

// decodeCBOR decodes without tags, as core-data does.
func decodeCBOR(data []byte, v any) error { return decoder.Unmarshal(data, v) }

var decoder = func() cbor.DecMode {
	mode, err := cbor.DecOptions{MaxNestedLevels: 64, TagsMd: cbor.TagsForbidden}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()
