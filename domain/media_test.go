package domain

import (
	"strings"
	"testing"
)

func TestCheckBinary(t *testing.T) {
	tests := []struct{ declared, sent, want string }{
		{"image/jpeg", "image/jpeg", "image/jpeg"},
		{"image/jpeg", "IMAGE/Jpeg", "image/jpeg"},
		{"image/jpeg", "image/jpeg; quality=80", "image/jpeg"},
		{"Image/JPEG", "image/jpeg", "Image/JPEG"},
		{"text/csv; header=present", "text/csv", "text/csv; header=present"},
		{"", "image/png", "image/png"},
		{"", "Image/PNG; a=b", "image/png"},
		{"", "", "application/octet-stream"},
		{"", "no media type", "application/octet-stream"},
	}
	for _, tt := range tests {
		for _, body := range []string{"", "\xff\xd8", "text"} {
			got, err := ReadValue(Profile{}, resource("Binary", tt.declared), tt.sent, []byte(body))
			if err != nil || got != (Value{"Binary", tt.want, ""}) {
				t.Errorf("declared %q, sent %q: got %+v, %v, want %q", tt.declared, tt.sent, got, err, tt.want)
			}
		}
	}
}

func TestCheckBinaryRefusesOtherMediaTypes(t *testing.T) {
	for _, sent := range []string{"", "image/png", "image", "image/*", "image/jpegs", "jpeg", "no media type"} {
		wantNoValue(t, resource("Binary", "image/jpeg"), sent, "\xff\xd8",
			`resource "r": wrong Content-Type: expected "image/jpeg" but received "`+sent+`"`)
	}
}

func TestCheckBinaryRefusesLongMediaTypes(t *testing.T) {
	r, long := resource("Binary", ""), "a/"+strings.Repeat("b", MaxName-2)
	if _, err := CheckMediaType(r, long); err != nil {
		t.Error(err)
	}
	wantNoValue(t, r, long+"b", "x", "Content-Type: ", "is 257 bytes long; use at most 256")
}

func TestCheckObject(t *testing.T) {
	r := resource("Object", "")
	for _, body := range []string{`{}`, `{"a":1}`, ` { "a" : {"b":[null]} } ` + "\n", `{"a":12345678901234567890.1}`, "[]", "[{}]", "1", `"a"`, " true"} {
		for _, sent := range []string{"application/json", "Application/JSON", "application/json; charset=utf-8"} {
			got, err := ReadValue(Profile{}, r, sent, []byte(body))
			if err != nil || got != (Value{"Object", "application/json", ""}) {
				t.Errorf("%q, body %s: got %+v, %v, want application/json", sent, body, got, err)
			}
		}
	}
	for _, body := range []string{"", "x", "[", `"a`, `{`, `{}{}`, `{} x`, `{"a":}`, `{a:1}`, `{"a":1,}`, "\ufeff{}"} {
		wantNoValue(t, r, "application/json", body, `resource "r": the body is no JSON: `)
	}
	wantNoValue(t, r, "application/json", " null ", `resource "r": the body is null, which is not a value; post an object`)
	for _, sent := range []string{"", "text/json", "text/plain", "application/json+x", "json"} {
		wantNoValue(t, r, sent, "{}", `resource "r": wrong Content-Type: expected "application/json" but received "`+sent+`"`)
	}
}
