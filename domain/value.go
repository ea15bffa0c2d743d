package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strconv"
	"strings"

	"ledge/domain/jsonlimit"
)

// Value is a posted body as EdgeX's device SDK makes a reading of it.
type Value struct {
	// Type is the reading's value type: that of the resource, or String where a mapping or a transform has put a text
	// in the value's place.
	Type string
	// MediaType is the body's.
	MediaType string
	// Text is the value as EdgeX writes it: 12.5 is 1.250000e+01, a list is [1, 2]. It is empty where the body is that
	// text, byte for byte, and for a Binary.
	Text string
}

// overflow stands in the place of a value that a transform takes out of the range of its type.
const overflow = "overflow"

// AssertionError refuses a value that is not the resource's assertion. EdgeX then takes the device for DOWN.
type AssertionError struct{ Resource, Value, Assertion string }

func (e *AssertionError) Error() string {
	return fmt.Sprintf("resource %q: the value %s fails the assertion %s, and the device's operatingState is DOWN; mend the device or the profile and set it UP",
		e.Resource, quote(e.Value), quote(e.Assertion))
}

// Unwrap gives the error its code.
func (e *AssertionError) Unwrap() error { return &Error{Code: Invalid, Message: e.Error()} }

// ReadValue makes a Value of a body that is posted to a resource of the profile: it checks media type and text, applies
// the resource's transforms, compares the assertion and maps. It refuses what is not a value of the resource, what a
// property of the profile cannot be applied to and, with an [AssertionError], what fails the assertion.
//
// Numbers are written as in Go source (10, 0x1F, 1_000), lists as JSON. EdgeX 2.3 wraps integers that do not fit, Ledge
// refuses them.
func ReadValue(p Profile, r DeviceResource, contentType string, body []byte) (Value, error) {
	mediaType, err := CheckMediaType(r, contentType)
	if err != nil {
		return Value{}, err
	}
	v := Value{Type: r.Properties.ValueType, MediaType: mediaType}
	if IsWhole(p, r) {
		return v, v.convert(p, r, body)
	}
	if v.Type == "Object" {
		_, err = parseObject[json.RawMessage](r, body)
	}
	return v, err
}

// IsWhole reports whether the value must be in memory as a whole to be read. What need not is the body as it is: a
// Binary, and a String or an Object without assertion and mappings.
func IsWhole(p Profile, r DeviceResource) bool {
	switch r.Properties.ValueType {
	case "Binary": // EdgeX compares its first 20 bytes, as Go prints them.
		return false
	case "String", "Object":
		return r.Properties.Assertion != "" || len(p.mappings(r.Name)) > 0
	default:
		return true
	}
}

// mappings are those of the first resource operation that names the resource. EdgeX 2.3 takes any one of several.
func (p Profile) mappings(resource string) map[string]string {
	for _, c := range p.DeviceCommands {
		for _, o := range c.ResourceOperations {
			if o.DeviceResource == resource {
				return o.Mappings
			}
		}
	}
	return nil
}

// convert sets Type and Text. Assertion and mappings see the value as Go prints it: 12.5, [1 2], map[a:1].
func (v *Value) convert(p Profile, r DeviceResource, body []byte) error {
	value, err := v.parse(r, body)
	if err != nil {
		return err
	}
	value, err = v.transform(r, value)
	printed := fmt.Sprint(value)
	if a := r.Properties.Assertion; a != "" && a != printed {
		return &AssertionError{Resource: r.Name, Value: printed, Assertion: a}
	}
	if err != nil {
		return err
	}
	if mapped, ok := p.mappings(r.Name)[printed]; ok {
		if mapped == "" { // core-data takes no reading without a value
			return Errorf(Invalid, "resource %q: the profile maps the value %s to an empty text; give one there", r.Name, quote(printed))
		}
		v.Type, value = "String", mapped
	}
	if v.Type == "Object" {
		return nil
	}
	if v.Text = edgexText(v.Type, value); v.Text == string(body) {
		v.Text = ""
	}
	return nil
}

// parse returns the body as a value of Go's type of the same name, a slice for a list, what encoding/json makes of an Object.
func (v *Value) parse(r DeviceResource, body []byte) (any, error) {
	if v.Type == "Object" {
		return parseObject[any](r, body)
	}
	if element, ok := strings.CutSuffix(v.Type, "Array"); ok {
		list, err := scalarTypes[element].parseList(body)
		if err != nil {
			return nil, Errorf(Invalid, "resource %q: the body is no %s: %v; write a JSON array of values of type %s", r.Name, v.Type, err, element)
		}
		return list, nil
	}
	value, err := scalarTypes[v.Type].parse(string(body))
	if err == nil {
		return value, nil
	}
	cure := "write one value in plain text"
	if errors.Is(err, strconv.ErrRange) {
		cure = "the value is out of the type's range"
	}
	return nil, Errorf(Invalid, "resource %q: %s is no %s; %s", r.Name, quote(string(body)), v.Type, cure)
}

// transform applies the transforms of a scalar; EdgeX has none for lists. With an error it returns the value as it is.
func (v *Value) transform(r DeviceResource, value any) (any, error) {
	t, ok := scalarTypes[v.Type]
	if !ok {
		return value, nil
	}
	transformed, err := t.transform(value, r.Properties)
	if errors.Is(err, errOverflow) {
		v.Type = "String"
		return overflow, nil
	}
	if err != nil {
		return value, Errorf(Invalid, "resource %q: the profile's %v; correct it there", r.Name, err)
	}
	return transformed, nil
}

// edgexText is how EdgeX writes a value in a reading. Where a text of a StringArray has spaces, each is ", " there.
func edgexText(valueType string, value any) string {
	switch v := value.(type) {
	case float32:
		return floatText(float64(v), 32)
	case float64:
		return floatText(v, 64)
	case []float32:
		return floatTexts(v, 32)
	case []float64:
		return floatTexts(v, 64)
	}
	text := fmt.Sprint(value)
	if strings.HasSuffix(valueType, "Array") {
		text = strings.ReplaceAll(text, " ", ", ")
	}
	return text
}

func floatTexts[T float](list []T, bits int) string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = floatText(float64(f), bits)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// floatText writes six digits behind the point, as EdgeX 2.3 does, or as many as the value needs to be the same when it is read back. EdgeX
// 2.3 loses those.
func floatText(f float64, bits int) string {
	text := strconv.FormatFloat(f, 'e', 6, bits)
	if back, _ := strconv.ParseFloat(text, bits); back == f {
		return text
	}
	return strconv.FormatFloat(f, 'e', -1, bits)
}

// CheckMediaType refuses a Content-Type that the resource does not take, and returns the one to keep with the value.
func CheckMediaType(r DeviceResource, contentType string) (string, error) {
	switch t := r.Properties.ValueType; {
	case t == "Binary":
		return checkBinary(r, contentType)
	case t == "Object":
		if got, _, err := mime.ParseMediaType(contentType); err != nil || got != "application/json" {
			return "", Errorf(Invalid, "resource %q: wrong Content-Type: expected %q but received %q", r.Name, "application/json", contentType)
		}
		return "application/json", nil
	case strings.HasSuffix(t, "Array"):
		return "application/json", nil
	default:
		return "text/plain", nil
	}
}

func checkBinary(r DeviceResource, contentType string) (string, error) {
	want := r.Properties.MediaType
	got, _, err := mime.ParseMediaType(contentType)
	if want == "" {
		if got == "" { // none, or one that is none
			got = "application/octet-stream"
		}
		var p Problems
		p.checkLength("Content-Type", got)
		return got, p.Err()
	}
	if wantType, _, wantErr := mime.ParseMediaType(want); err != nil || wantErr != nil || got != wantType {
		return "", Errorf(Invalid, "resource %q: wrong Content-Type: expected %q but received %q", r.Name, want, contentType)
	}
	return want, nil
}

// parseObject reads the value of an Object: any JSON but null, which is not a value in core-data.
func parseObject[V any](r DeviceResource, body []byte) (v V, err error) {
	if err := jsonlimit.Check(body); err != nil {
		return v, Errorf(Invalid, "resource %q: %v; make the value flatter, or its numbers smaller", r.Name, err)
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return v, Errorf(Invalid, "resource %q: the body is no JSON: %v; post a JSON value", r.Name, err)
	}
	if string(bytes.TrimSpace(body)) == "null" {
		return v, Errorf(Invalid, "resource %q: the body is null, which is not a value; post an object or another JSON value", r.Name)
	}
	return v, nil
}
