package domain

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// What the SDK makes of values is in TestValuesAreThoseOfTheSDK; these are the rules one by one.
func TestTransforms(t *testing.T) {
	type p = ResourceProperties
	for _, tt := range []struct {
		valueType, body string
		properties      ResourceProperties
		want            string
	}{
		{"Uint8", "171", p{Mask: "15"}, "Uint8 11"},
		{"Uint8", "171", p{Mask: "0"}, "Uint8 171"},
		{"Int8", "127", p{Mask: "15", Shift: "2"}, "Int8 127"},
		{"Uint8", "171", p{Shift: "4"}, "Uint8 176"},
		{"Uint8", "171", p{Shift: "-4"}, "Uint8 10"},
		{"Uint64", "1", p{Shift: "-9223372036854775808"}, "Uint64 0"}, // the SDK panics
		{"Uint16", "43981", p{Mask: "3840", Shift: "-8", Base: "2", Scale: "3", Offset: "-1"}, "Uint16 6143"},
		{"Int16", "3", p{Base: "10"}, "Int16 1000"},
		{"Int16", "-1", p{Base: "10"}, "String overflow"}, // a fraction
		{"Int16", "0", p{Base: "0"}, "Int16 0"},
		{"Float64", "0.5", p{Base: "-1"}, "String overflow"}, // NaN
		{"Int16", "1000", p{Scale: "100", Offset: "1"}, "String overflow"},
		{"Int16", "100", p{Scale: "100", Offset: "1"}, "Int16 10001"},
		{"Int32", "4", p{Scale: "0.5"}, "Int32 0"}, // 0.5 is 0 as an Int32
		{"Int32", "4", p{Scale: "2.5"}, "Int32 8"}, // 2.5 is 2
		{"Int32", "4", p{Offset: "1.5"}, "String overflow"},
		{"Uint8", "5", p{Offset: "-1"}, "Uint8 4"},
		{"Uint8", "5", p{Offset: "-6"}, "String overflow"},
		{"Uint64", "18446744073709551615", p{Offset: "-1e19"}, "Uint64 8446744073709551615"},
		{"Int64", "-9223372036854775808", p{Offset: "1e19"}, "Int64 776627963145224192"},
		{"Uint64", "64", p{Base: "2"}, "String overflow"},
		{"Uint64", "0", p{Scale: "1e30"}, "Uint64 0"},
		{"Float64", "10", p{Scale: "2", Offset: "1"}, "Float64 2.100000e+01"},
		{"Float32", "3e38", p{Scale: "2"}, "String overflow"},
		{"Float64", "0", p{Scale: "-1"}, "Float64 0.000000e+00"},
		{"Float64", "1", p{Scale: "1e309"}, `resource "r": the profile's scale, "1e309", is out of range; correct it there`},
		{"Float64", "1", p{Base: "ten"}, `resource "r": the profile's base, "ten", is not a number; correct it there`},
		{"Uint8", "1", p{Mask: "256"}, `resource "r": the profile's mask, "256", is out of range; correct it there`},
		{"Uint8", "1", p{Shift: "1.0"}, `resource "r": the profile's shift, "1.0", is not a number; correct it there`},
		{"Uint8", "1", p{Offset: "1,0"}, `resource "r": the profile's offset, "1,0", is not a number; correct it there`},
		{"Bool", "true", p{Scale: "x"}, "Bool true"},
		{"Int8Array", "[1]", p{Scale: "2"}, "Int8Array [1]"},
		{"Int32", "50", p{Minimum: "0", Maximum: "10"}, "Int32 50"}, // these are for what is written
		{"Float32", "1", p{Assertion: "1"}, "Float32 1.000000e+00"},
		{"Int8Array", "[1,2]", p{Assertion: "[1 2]"}, "Int8Array [1, 2]"},
		{"Object", `{"b":[1,"x"],"a":null}`, p{Assertion: "map[a:<nil> b:[1 x]]"}, `Object {"b":[1,"x"],"a":null}`},
		{"Object", `{}`, p{Assertion: "{}"}, `resource "r": the value "map[]" fails the assertion "{}", and the device's operatingState is DOWN; mend the device or the profile and set it UP`},
		{"String", "bad", p{Assertion: "good"}, `resource "r": the value "bad" fails the assertion "good", and`},
		{"Uint8", "200", p{Scale: "2", Assertion: "400"}, `the value "overflow" fails the assertion "400"`},
		{"Uint8", "2", p{Scale: "x", Assertion: "3"}, `the value "2" fails the assertion "3"`},
		{"Binary", "x", p{Assertion: "y"}, "Binary x"},
	} {
		tt.properties.ValueType = tt.valueType
		r := DeviceResource{Name: "r", Properties: tt.properties}
		v, err := ReadValue(Profile{}, r, "application/json", []byte(tt.body))
		got := v.Type + " " + v.Text
		switch {
		case err != nil:
			got = err.Error()
			if _, failed := errors.AsType[*AssertionError](err); CodeOf(err) != Invalid || failed != strings.Contains(tt.want, "assertion") {
				t.Errorf("%+v: got %#v", tt, err)
			}
		case v.Text == "":
			got += tt.body
		}
		if !strings.Contains(got, tt.want) || err == nil && got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt, got, tt.want)
		}
	}
}

// Some results are infinite although the product was in range; EdgeX writes them as they are.
func TestInfiniteFactors(t *testing.T) {
	r := resource("Float32", "")
	r.Properties.Scale = "1e39"
	v, err := ReadValue(Profile{}, r, "", []byte("1e-10"))
	if err != nil || v.Text != "+Inf" {
		t.Errorf("got %+v, %v, want +Inf", v, err)
	}
}

func TestMappings(t *testing.T) {
	operations := func(o ...ResourceOperation) Profile {
		return Profile{DeviceCommands: []DeviceCommand{{ResourceOperations: []ResourceOperation{{DeviceResource: "other", Mappings: map[string]string{"1": "no"}}}}, {ResourceOperations: o}}}
	}
	first := ResourceOperation{DeviceResource: "r", Mappings: map[string]string{
		"1": "one", "1.5": "more", "true": "on", "[1 2]": "both", "overflow": "too much", "map[a:1]": "a", "2": "2", "none": "",
	}}
	second := ResourceOperation{DeviceResource: "r", Mappings: map[string]string{"5": "five"}}
	for _, tt := range []struct{ valueType, body, want string }{
		{"Int8", "1", "String one"}, {"Int8", "0x1", "String one"}, {"Int8", "5", "Int8 "}, {"Int8", "2", "String "}, {"Int8", "100", "String too much"},
		{"Float32", "15e-1", "String more"}, {"Bool", "T", "String on"}, {"Int8Array", "[1,2]", "String both"},
		{"String", "1", "String one"}, {"String", "x", "String "}, {"Object", `{"a":1.0}`, "String a"}, {"Object", `{}`, "Object "}, {"Binary", "1", "Binary "},
	} {
		r := resource(tt.valueType, "")
		if tt.body == "100" {
			r.Properties.Scale = "2"
		}
		v, err := ReadValue(operations(first, second), r, "application/json", []byte(tt.body))
		if got := v.Type + " " + v.Text; err != nil || got != tt.want {
			t.Errorf("%s %s: got %q, %v, want %q", tt.valueType, tt.body, got, err, tt.want)
		}
	}
	if v, _ := ReadValue(operations(ResourceOperation{DeviceResource: "r"}, first), resource("Int8", ""), "", []byte("1")); v.Text != "" {
		t.Errorf("got %+v: the first operation has no mappings", v)
	}
	_, err := ReadValue(operations(first), resource("String", ""), "", []byte("none"))
	if err == nil || err.Error() != `resource "r": the profile maps the value "none" to an empty text; give one there` {
		t.Errorf("empty: got %v", err)
	}
}

func TestIsWhole(t *testing.T) {
	mapped := Profile{DeviceCommands: []DeviceCommand{{ResourceOperations: []ResourceOperation{{DeviceResource: "r", Mappings: map[string]string{"a": "b"}}}}}}
	for _, valueType := range ValueTypes {
		r := resource(valueType, "")
		plain := valueType == "String" || valueType == "Object" || valueType == "Binary"
		if IsWhole(Profile{}, r) == plain || IsWhole(mapped, r) == (valueType == "Binary") {
			t.Errorf("%s: got %t, mapped %t", valueType, IsWhole(Profile{}, r), IsWhole(mapped, r))
		}
		r.Properties.Assertion = "a"
		if got := IsWhole(Profile{}, r); got == (valueType == "Binary") {
			t.Errorf("%s with an assertion: got %t", valueType, got)
		}
	}
}

// FuzzReadValue posts anything to anything. The text of a scalar or a list of numbers, posted again, stays as it is.
func FuzzReadValue(f *testing.F) {
	for i := range ValueTypes {
		for _, body := range []string{"1", "-0x1p-2", "true", "[1,2.5e3]", `["a"]`, `{"a":[{}]}`, "", "[\xff]"} {
			f.Add(uint8(i), body, "", "")
			f.Add(uint8(i), body, "2.5", "-1")
		}
	}
	f.Add(uint8(3), "64", "2", "1e19")
	f.Fuzz(func(t *testing.T, index uint8, body, a, b string) {
		r := resource(ValueTypes[int(index)%len(ValueTypes)], "")
		plain := r
		r.Properties.Mask, r.Properties.Shift, r.Properties.Base, r.Properties.Scale, r.Properties.Offset = a, b, b, a, b
		profile := Profile{DeviceCommands: []DeviceCommand{{ResourceOperations: []ResourceOperation{{DeviceResource: "r", Mappings: map[string]string{a: b}}}}}}
		if _, err := ReadValue(profile, r, "application/json", []byte(body)); err != nil && CodeOf(err) != Invalid {
			t.Errorf("got %v, want it to be Invalid", err)
		}
		v, err := ReadValue(Profile{}, plain, "application/json", []byte(body))
		if err != nil || v.Text == "" || v.Type == "StringArray" {
			return
		}
		again, err := ReadValue(Profile{}, plain, "application/json", []byte(v.Text))
		if err != nil || again.Text != "" {
			t.Errorf("%s %q: got %+v, %v of its text %q, want the same", v.Type, body, again, err, v.Text)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, f := range []float64{0, 1, -1, 2.9, -2.9, 255, 256, -129, math.MaxInt32, -1 << 31, 1 << 53} {
		if got, ok := wrap[int64](f); !ok || got != int64(f) {
			t.Errorf("%g: got %d, %t", f, got, ok)
		}
		if got, ok := wrap[uint8](f); !ok || got != uint8(int64(f)) {
			t.Errorf("%g: got %d, %t", f, got, ok)
		}
	}
	for _, f := range []float64{1 << 64, -1 << 64, math.Inf(1), math.NaN()} {
		if _, ok := wrap[uint64](f); ok {
			t.Errorf("%g is taken", f)
		}
	}
}
