package data

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/jsonform"
)

const (
	typeJSON = "application/json"
	typeCBOR = "application/cbor"
)

// addEvent is the body of POST /event, in JSON or CBOR.
type addEvent struct {
	handlers.Head
	Event eventShape `json:"event"`
}

type eventShape struct {
	APIVersion  string         `json:"apiVersion"`
	ID          string         `json:"id"`
	DeviceName  string         `json:"deviceName"`
	ProfileName string         `json:"profileName"`
	SourceName  string         `json:"sourceName"`
	Origin      int64          `json:"origin"`
	Readings    []readingShape `json:"readings"`
	Tags        anyJSON        `json:"tags"`
}

// readingShape has its value in BinaryValue, ObjectValue or Value, as ValueType says; the others are ignored.
type readingShape struct {
	ID           string  `json:"id"`
	Origin       int64   `json:"origin"`
	DeviceName   string  `json:"deviceName"`
	ResourceName string  `json:"resourceName"`
	ProfileName  string  `json:"profileName"`
	ValueType    string  `json:"valueType"`
	Units        string  `json:"units"`
	BinaryValue  []byte  `json:"binaryValue"`
	MediaType    string  `json:"mediaType"`
	Value        string  `json:"value"`
	ObjectValue  anyJSON `json:"objectValue"`
}

// anyJSON is a value of any type, as JSON; nil for null.
type anyJSON json.RawMessage

// UnmarshalJSON implements json.Unmarshaler. What is no UTF-8 becomes U+FFFD, as in other texts: consumers of the event
// could not read it.
func (j *anyJSON) UnmarshalJSON(b []byte) error {
	if *j = nil; string(b) != "null" {
		*j = append(*j, bytes.ToValidUTF8(b, []byte("\ufffd"))...)
	}
	return nil
}

// UnmarshalCBOR implements cbor.Unmarshaler. Bytes become base64, as in Go's JSON.
func (j *anyJSON) UnmarshalCBOR(b []byte) error {
	var v any
	if err := decoder.Unmarshal(b, &v); err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return j.UnmarshalJSON(text)
}

// decoder takes keys of objects for text, as JSON has them. The memory that a body takes is bounded before.
var decoder = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), MaxNestedLevels: 64, MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24,
		TagsMd: cbor.TagsForbidden,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()

// unmarshalCBOR says of a wrong type in which key of the outermost object it is; the decoder knows no more, but Go's names.
func unmarshalCBOR(data []byte, v any) error {
	err := decoder.Unmarshal(data, v)
	if wrong, ok := errors.AsType[*cbor.UnmarshalTypeError](err); ok {
		field := wrong.StructFieldName[strings.LastIndexByte(wrong.StructFieldName, '.')+1:]
		return fmt.Errorf("%s has the type %s where another one is needed", cmp.Or(field, "body"), wrong.CBORType)
	}
	return err
}

// readEvent returns the event in the body of a request, and the head beside it.
func (s service) readEvent(c *gin.Context, data []byte) (added domain.DataEventAdded, head handlers.Head, err error) {
	format, entries := eventFormat, jsonform.CountEntries
	if kind, _, _ := mime.ParseMediaType(c.GetHeader("Content-Type")); kind == typeCBOR {
		format, entries = jsonform.Format{Name: "CBOR", Unmarshal: unmarshalCBOR}, countItems
	}
	room := s.EntryMemory(c)
	defer room.Release()
	if err := room.Hold(entries(data)); err != nil {
		return added, head, err
	}
	asked, err := handlers.DecodeObject[addEvent](s.API, data, format)
	if err != nil {
		return added, head, err
	}
	added = asked.Event.event(s.NewID)
	p := (&handlers.Head{APIVersion: asked.Event.APIVersion}).Check(s.APIVersion)
	p = append(p, asked.Event.matches(c)...)
	p = append(p, added.Check()...)
	var problems domain.Problems
	problems.In("event", p)
	return added, asked.Head, problems.Err()
}

// matches notes where the path says otherwise than the event.
func (e eventShape) matches(c *gin.Context) (p domain.Problems) {
	for _, one := range []struct{ name, value string }{
		{"profileName", e.ProfileName}, {"deviceName", e.DeviceName}, {"sourceName", e.SourceName},
	} {
		if inPath := c.Param(one.name); one.value != "" && one.value != inPath {
			p.Add(one.name, "%.80q is not the %.80q of the path; correct one of them", one.value, inPath)
		}
	}
	return p
}

func (e eventShape) event(newID func() string) domain.DataEventAdded {
	added := domain.DataEventAdded{Event: domain.DataEvent{
		ID: e.ID, Profile: e.ProfileName, Device: e.DeviceName, Source: e.SourceName, Origin: e.Origin, Tags: json.RawMessage(e.Tags),
	}}
	if string(e.Tags) == "{}" { // which EdgeX 2.3 leaves out of answers
		added.Event.Tags = nil
	}
	for i, r := range e.Readings {
		if r.ID == "" && i < domain.MaxReadings {
			r.ID = newID()
		}
		added.Readings = append(added.Readings, r.value())
	}
	return added
}

func (r readingShape) value() domain.ReadingValue {
	v := domain.ReadingValue{Reading: domain.Reading{
		ID: r.ID, Profile: r.ProfileName, Device: r.DeviceName, Resource: r.ResourceName, ValueType: domain.NormalValueType(r.ValueType),
		Units: r.Units, Origin: r.Origin,
	}}
	switch v.ValueType {
	case domain.Binary:
		v.Data, v.MediaType, v.Size = r.BinaryValue, r.MediaType, int64(len(r.BinaryValue))
	case "Object":
		v.Object, v.Size = json.RawMessage(r.ObjectValue), int64(len(r.ObjectValue))
	default:
		v.Text, v.Size = r.Value, int64(len(r.Value))
	}
	return v
}

// countItems counts the items of a CBOR text; in what is none, any number.
func countItems(data []byte) (n int) {
	for len(data) > 0 {
		n++
		major, info := data[0]>>5, data[0]&31
		if major == 5 { // a map, which has all fields of its type in memory
			n += 5
		}
		data = data[1:]
		var argument uint64
		if size := 1 << (info & 3); info >= 24 && info < 28 {
			if len(data) < size {
				return n
			}
			for _, b := range data[:size] {
				argument = argument<<8 | uint64(b)
			}
			data = data[size:]
		} else {
			argument = uint64(info)
		}
		if (major == 2 || major == 3) && info < 28 { // bytes and text of a known length
			data = data[min(argument, uint64(len(data))):]
		}
	}
	return n
}
