package domain

import (
	"encoding/json"
	"errors"
	"math"
	"mime"
	"strconv"
	"strings"
	"unicode"
)

// CheckValue refuses a posted body that is not a value of the resource: of another media type, or no text of its
// value type. It returns the media type to keep with the value. Numbers are written as in Go source (10, 0x1F, 1_000);
// EdgeX 2.3 wraps integers that do not fit, Ledge refuses them.
func CheckValue(r DeviceResource, contentType string, body []byte) (mediaType string, err error) {
	switch t := r.Properties.ValueType; {
	case t == "Binary":
		return checkBinary(r, contentType)
	case t == "Object":
		return "application/json", checkObject(r, contentType, body)
	case strings.HasSuffix(t, "Array"):
		// EdgeX 2.3 refuses arrays too.
		return "", Errorf(Invalid, "resource %q: posting the value type %s is not supported; post an Object or single values", r.Name, t)
	default:
		return "text/plain", checkScalar(r, string(body))
	}
}

func checkBinary(r DeviceResource, contentType string) (string, error) {
	want := r.Properties.MediaType
	got, _, err := mime.ParseMediaType(contentType)
	if want == "" {
		if got == "" { // none, or one that is none
			got = "application/octet-stream"
		}
		return got, nil
	}
	if wantType, _, wantErr := mime.ParseMediaType(want); err != nil || wantErr != nil || got != wantType {
		return "", Errorf(Invalid, "resource %q: wrong Content-Type: expected %q but received %q", r.Name, want, contentType)
	}
	return want, nil
}

func checkObject(r DeviceResource, contentType string, body []byte) error {
	if got, _, err := mime.ParseMediaType(contentType); err != nil || got != "application/json" {
		return Errorf(Invalid, "resource %q: wrong Content-Type: expected %q but received %q", r.Name, "application/json", contentType)
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal(body, &o); err != nil {
		return Errorf(Invalid, "resource %q: the body is no JSON object: %v", r.Name, err)
	}
	if o == nil {
		return Errorf(Invalid, "resource %q: the body is null; post a JSON object", r.Name)
	}
	return nil
}

func checkScalar(r DeviceResource, text string) error {
	var err error
	switch t := r.Properties.ValueType; t {
	case "String":
		return nil
	case "Bool":
		_, err = strconv.ParseBool(text)
	case "Float32", "Float64":
		err = checkFloat(text, bits(t))
	default:
		if strings.HasPrefix(t, "U") {
			_, err = strconv.ParseUint(strings.TrimPrefix(text, "+"), 0, bits(t))
		} else {
			_, err = strconv.ParseInt(text, 0, bits(t))
		}
	}
	if err == nil {
		return nil
	}
	cure := "write one value in plain text"
	if errors.Is(err, strconv.ErrRange) {
		cure = "the value is out of the type's range"
	}
	return Errorf(Invalid, "resource %q: %s is no %s; %s", r.Name, quote(text), r.Properties.ValueType, cure)
}

func checkFloat(text string, bits int) error {
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return err
	}
	// EdgeX 2.3 refuses these as out of range; it also refuses 0, a defect that EdgeX 3.1 mended.
	underflow := f == 0 && strings.ContainsAny(mantissa(text), "123456789abcdef")
	if math.IsNaN(f) || math.IsInf(f, 0) || underflow {
		return strconv.ErrRange
	}
	return nil
}

// mantissa is the digits of a number before its exponent, which p marks where they are hexadecimal.
func mantissa(text string) string {
	text = strings.TrimLeft(strings.ToLower(text), "+-")
	mark := "e"
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		text, mark = hex, "p"
	}
	m, _, _ := strings.Cut(text, mark)
	return m
}

// bits is the number in the name of a numeric value type.
func bits(valueType string) int {
	n, _ := strconv.Atoi(strings.TrimLeftFunc(valueType, unicode.IsLetter))
	return n
}
