package domain

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxReadings is how many readings one DataEvent has.
	MaxReadings = 1000
	// MaxDataTags is the length of a DataEvent's tags in bytes.
	MaxDataTags = 64 << 10
)

// NormalValueType returns a value type in its proper case, or as it is where it is none: EdgeX 2.3 takes "int32" for
// "Int32".
func NormalValueType(t string) string {
	if i := slices.IndexFunc(ValueTypes, func(v string) bool { return strings.EqualFold(v, t) }); i >= 0 {
		return ValueTypes[i]
	}
	return t
}

// Check notes what is wrong with an event that was posted. Paths are those of EdgeX 2.3.
func (e DataEventAdded) Check() Problems {
	var p Problems
	d := e.Event
	if !IsUUID(d.ID) {
		p.Add("id", "%s is no UUID; give the event one of its own", quote(d.ID))
	}
	p.checkName("deviceName", d.Device)
	p.checkName("profileName", d.Profile)
	p.checkName("sourceName", d.Source)
	p.checkOrigin(d.Origin)
	p.checkDataTags(d.Tags)
	switch n := len(e.Readings); {
	case n == 0:
		p.Add("readings", "is missing or empty; give one or more")
	case n > MaxReadings:
		p.Add("readings", "has %d entries; use at most %d", n, MaxReadings)
	default:
		checkIndexed(&p, "readings", e.Readings, func(p *Problems, path string, v ReadingValue) { p.In(path, v.check()) })
	}
	return p
}

// checkOrigin refuses what EdgeX 2.3 takes for missing, and times before 1970, which it takes.
func (p *Problems) checkOrigin(origin int64) {
	if origin <= 0 {
		p.Add("origin", "%d is not a time; give nanoseconds since 1970", origin)
	}
}

func (p *Problems) checkDataTags(tags json.RawMessage) {
	switch {
	case len(tags) == 0:
	case len(tags) > MaxDataTags:
		p.Add("tags", "is %d bytes long; use at most %d", len(tags), MaxDataTags)
	case !bytes.HasPrefix(bytes.TrimSpace(tags), []byte("{")):
		p.Add("tags", "%s is not an object; give one, or leave it out", quote(string(tags)))
	}
}

func (v ReadingValue) check() Problems {
	var p Problems
	p.checkID("id", v.ID)
	p.checkName("deviceName", v.Device)
	p.checkName("profileName", v.Profile)
	p.checkName("resourceName", v.Resource)
	p.checkOneOf("valueType", v.ValueType, ValueTypes...)
	p.checkOrigin(v.Origin)
	p.checkLength("units", v.Units)
	p.checkLength("mediaType", v.MediaType)
	p.checkMediaType("mediaType", v.MediaType)
	switch {
	case v.ValueType == Binary:
		p.checkText("mediaType", v.MediaType)
		if v.Digest == "" && len(v.Data) == 0 {
			p.Add("binaryValue", "is missing or empty; give the bytes")
		}
	case v.Digest != "":
	case v.ValueType == "Object":
		if len(v.Object) == 0 {
			p.Add("objectValue", "is missing or null; give any other JSON")
		}
	case v.Text == "": // EdgeX 2.3 refuses an empty String too
		p.checkText("value", v.Text)
	case !isText(v.ValueType, v.Text):
		p.Add("value", "%s is no %s; correct one of them", quote(v.Text), v.ValueType)
	}
	return p
}

// isText reports whether text is a value of a type as EdgeX 2.3 writes it: numbers in base 10, arrays as [1, 2]. EdgeX's device services
// in C write arrays as [1,2].
func isText(valueType, text string) bool {
	scalar, array := strings.CutSuffix(valueType, "Array")
	if !array || scalar == "String" { // nobody can tell where an element of these ends
		return isScalar(scalar, text)
	}
	inner, opened := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !opened || !closed {
		return false
	}
	for one := range strings.SplitSeq(inner, ",") {
		if !isScalar(scalar, strings.TrimSpace(one)) {
			return false
		}
	}
	return true
}

func isScalar(valueType, text string) bool {
	kind := strings.TrimRight(valueType, "0123456789")
	size, _ := strconv.Atoi(valueType[len(kind):])
	var err error
	switch kind {
	case "Bool":
		_, err = strconv.ParseBool(text)
	case "Uint":
		_, err = strconv.ParseUint(text, 10, size)
	case "Int":
		_, err = strconv.ParseInt(text, 10, size)
	case "Float":
		_, err = strconv.ParseFloat(text, size)
	}
	return err == nil
}
