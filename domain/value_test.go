package domain

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func resource(valueType, mediaType string) DeviceResource {
	return DeviceResource{Name: "r", Properties: ResourceProperties{ValueType: valueType, ReadWrite: "R", MediaType: mediaType}}
}

// scalars lists, by value type, texts that are a value, that are none, and that are out of the type's range.
var scalars = map[string]struct{ values, none, beyond []string }{
	"Bool": {
		values: []string{"true", "false", "TRUE", "False", "T", "f", "1", "0"},
		none:   []string{"", "yes", "tRUE", " true", "true\n", "2", "null"},
	},
	"String": {values: []string{"", " ", "any text\n", "é", "\xff\x00", `{"a":1}`}},
	"Uint8": {
		values: []string{"0", "255", "+7", "0x1F", "0XfF", "0b101", "0o17", "017", "2_5", "0x_f"},
		none:   []string{"", " 1", "1 ", "1\n", "\t1", "-1", "-0", "+-1", "++1", "1.0", "1e2", "08", "_1", "1_", "1__0", "0x", "ten", "１"},
		beyond: []string{"256", "0x100", "+256", "99999999999999999999"},
	},
	"Uint16": {values: []string{"0", "65535", "0xFFFF"}, none: []string{"-1"}, beyond: []string{"65536"}},
	"Uint32": {values: []string{"4294967295", "1_000_000"}, none: []string{"-1"}, beyond: []string{"4294967296"}},
	"Uint64": {values: []string{"18446744073709551615"}, none: []string{"-1"}, beyond: []string{"18446744073709551616"}},
	"Int8":   {values: []string{"-128", "127", "0", "-0", "+5", "-0x80", "-0b1"}, none: []string{"", " 1", "1 ", "--1", "+-1", "1.5", "1e1"}, beyond: []string{"128", "-129", "0x80"}},
	"Int16":  {values: []string{"-32768", "32767", "-0o17"}, none: []string{"08", "- 1"}, beyond: []string{"32768", "-32769"}},
	"Int32":  {values: []string{"-2147483648", "2147483647", "1_000"}, none: []string{"1,000", "0x"}, beyond: []string{"2147483648", "-2147483649"}},
	"Int64": {
		values: []string{"-9223372036854775808", "9223372036854775807", "0x7FFF_FFFF_FFFF_FFFF"},
		none:   []string{"", "one", "1\n"},
		beyond: []string{"9223372036854775808", "-9223372036854775809"},
	},
	"Float32": {
		values: []string{"0", "-0", "0.0", "1.5", "-1e10", "3.4028235e38", "1e-45", "7"},
		none:   []string{"", " 1.5", "1.5 ", "1,5", "1.5f"},
		beyond: []string{"3.5e38", "-1e39", "1e-46", "-1e-400", "NaN", "Inf", "-inf", "infinity"},
	},
	"Float64": {
		values: []string{"0", "0e5", "-0.0e-9", "+1.5", ".5", "5.", "1.7976931348623157e308", "5e-324", "0x1p-2", "0x1_0p0", "1_000.5", "0x0p5", "-0x0.0p-9", "0xep0"},
		none:   []string{"", " 0", "0\n", "1.5.5", "0x1", "e5", "two"},
		beyond: []string{"1.8e308", "-1e309", "1e-400", "0x1p-2000", "0xep-1200", "-0xAp-2000", "nan", "+Inf", "-Infinity"},
	},
}

func TestReadScalars(t *testing.T) {
	for valueType, texts := range scalars {
		r := resource(valueType, "")
		for _, text := range texts.values {
			got, err := ReadValue(Profile{}, r, "ignored/entirely", []byte(text))
			if err != nil || got.MediaType != "text/plain" || got.Type != valueType {
				t.Errorf("%s %q: got %+v, %v, want text/plain", valueType, text, got, err)
			}
		}
		for _, text := range texts.none {
			wantNoValue(t, r, "text/plain", text, `resource "r": `, " is no "+valueType+"; write one value in plain text")
		}
		for _, text := range texts.beyond {
			wantNoValue(t, r, "text/plain", text, `resource "r": "`+text+`"`, " is no "+valueType+"; the value is out of the type's range")
		}
	}
}

func TestEveryScalarTypeIsChecked(t *testing.T) {
	for _, valueType := range ValueTypes {
		_, ok := scalars[valueType]
		if _, reads := scalarTypes[valueType]; reads != ok {
			t.Errorf("%s: read as a scalar %t, want %t", valueType, reads, ok)
		}
		other := valueType == "Binary" || valueType == "Object" || strings.HasSuffix(valueType, "Array")
		if ok == other {
			t.Errorf("%s: in the table of scalars %t, want %t", valueType, ok, !other)
		}
	}
}

func TestReadValueCutsLongTexts(t *testing.T) {
	_, err := ReadValue(Profile{}, resource("Int64", ""), "", []byte(strings.Repeat("9", 1<<20)))
	if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "…") {
		t.Errorf("got %v, want an error that shows the value's first characters", err)
	}
}

func TestReadingsHaveTheTextOfEdgeX(t *testing.T) {
	const body = ""
	for _, tt := range []struct{ valueType, body, want string }{
		{"Bool", "T", "true"}, {"Bool", "0", "false"}, {"Bool", "true", body},
		{"String", "T", body}, {"String", " a b\n", body}, {"Binary", "\xff", body},
		{"Object", `{"a": 1.50}`, body},
		{"Uint8", "0x1F", "31"}, {"Uint8", "31", body}, {"Uint16", "+5", "5"}, {"Uint32", "010", "8"}, {"Uint64", "1_000", "1000"},
		{"Int8", "-0", "0"}, {"Int16", "-0x80", "-128"}, {"Int32", "-7", body}, {"Int64", "0b101", "5"},
		{"Float32", "12.5", "1.250000e+01"}, {"Float32", "0.1", "1.000000e-01"}, {"Float32", "1.250000e+01", body}, {"Float32", "16777217", "1.6777216e+07"}, // as near as a Float32 comes
		{"Float32", "1234.5678", "1.2345677e+03"}, {"Float64", "100000001", "1.00000001e+08"}, {"Float64", "0.1234567890123456789", "1.2345678901234568e-01"},
		{"Float64", "-0", "-0.000000e+00"}, {"Float64", "1e300", "1.000000e+300"},
		{"BoolArray", "[true,false, 1]", "[true, false, true]"}, {"BoolArray", "[true, false]", body},
		{"StringArray", `["a","\u00fc \"",""]`, `[a, ü, ", ]`}, // EdgeX parts it at each space
		{"Uint8Array", "[1,2,255]", "[1, 2, 255]"}, {"Uint16Array", " [ 1 ] ", "[1]"}, {"Uint32Array", "[1, 2]", body}, {"Uint64Array", "[18446744073709551615]", body},
		{"Int8Array", "[-1,\n2]", "[-1, 2]"}, {"Int16Array", "[]", body}, {"Int32Array", "[-0]", "[0]"}, {"Int64Array", "[1,2]", "[1, 2]"},
		{"Float32Array", "[1, 2.5]", "[1.000000e+00, 2.500000e+00]"}, {"Float64Array", "[1e1,0]", "[1.000000e+01, 0.000000e+00]"},
		{"Float64Array", "[100000001, -0.5, 1.00000001e-5]", "[1.00000001e+08, -5.000000e-01, 1.00000001e-05]"}, {"Float32Array", "[16777217]", "[1.6777216e+07]"},
	} {
		v, err := ReadValue(Profile{}, resource(tt.valueType, ""), "application/json", []byte(tt.body))
		if err != nil || v.Text != tt.want || v.Type != tt.valueType {
			t.Errorf("%s %q: got %+v, %v, want %q", tt.valueType, tt.body, v, err, tt.want)
		}
	}
}

// A float comes back exactly as it was posted, scaled or not, and in a list. EdgeX 2.3 keeps six digits: 100000001 becomes 1.000000e+08.
func TestFloatsKeepTheirDigits(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	for _, bits := range []int{32, 64} {
		valueType := fmt.Sprintf("Float%d", bits)
		for range 20_000 {
			posted := randomFloat(random, bits)
			f, err := strconv.ParseFloat(posted, bits)
			if err != nil || math.IsInf(f*4, 0) || f != 0 && math.Abs(f) < 1e-40 {
				continue
			}
			for suffix, body := range map[string]string{"": posted, "Array": "[" + posted + "]"} {
				v, err := ReadValue(Profile{}, resource(valueType+suffix, ""), "", []byte(body))
				text := strings.Trim(cmp.Or(v.Text, body), "[]")
				if back, _ := strconv.ParseFloat(text, bits); err != nil || back != f || len(text) < len("1.000000e+00") {
					t.Fatalf("%s%s %s: got %q, which is %v, %v", valueType, suffix, posted, text, back, err)
				}
			}
			r := resource(valueType, "")
			r.Properties.Scale = "4" // exact
			if v, err := ReadValue(Profile{}, r, "", []byte(posted)); err != nil || v.Type != valueType {
				continue // it overflows
			} else if back, _ := strconv.ParseFloat(cmp.Or(v.Text, posted), bits); back != 4*f {
				t.Fatalf("%s %s, scaled: got %q, want %v", valueType, posted, v.Text, 4*f)
			}
		}
	}
}

func TestReadLists(t *testing.T) {
	for _, element := range ValueTypes {
		if _, ok := scalarTypes[element]; !ok {
			continue
		}
		r := resource(element+"Array", "")
		for _, sent := range []string{"", "text/plain", "application/json", "no media type"} {
			v, err := ReadValue(Profile{}, r, sent, []byte("[]"))
			if err != nil || v.MediaType != "application/json" {
				t.Errorf("%s of %q: got %+v, %v", element, sent, v, err)
			}
		}
		for _, body := range []string{"", "1", "null", "{}", "[1", "[1,]", "[,1]", "[1 1]", "[1]]", "[1] x", "[1][1]", `"[1]"`, "1]"} {
			wantNoValue(t, r, "", body, "the body is no "+element+"Array: it is no JSON array; write a JSON array of values of type "+element)
		}
		for _, body := range []string{"[null]", "[[]]", "[{}]"} {
			wantNoValue(t, r, "", body, "the body is no "+element+"Array: element 0 is ")
		}
	}
	wantNoValue(t, resource("Uint8Array", ""), "", "[1, 256]", `the body is no Uint8Array: element 1 is "256"; write a JSON array of values of type Uint8`)
	wantNoValue(t, resource("Int32Array", ""), "", `["1"]`, `element 0 is "\"1\""`)
	wantNoValue(t, resource("Int32Array", ""), "", "[1.5]", `element 0 is "1.5"`)
	wantNoValue(t, resource("Float32Array", ""), "", "[1, 1e-50]", `element 1 is "1e-50"`)
	wantNoValue(t, resource("StringArray", ""), "", "[1]", `element 0 is "1"`)
}

func wantNoValue(t *testing.T, r DeviceResource, contentType, body string, says ...string) {
	t.Helper()
	_, err := ReadValue(Profile{}, r, contentType, []byte(body))
	if err == nil {
		t.Errorf("%s, %q, body %q: taken, want an error that says %q", r.Properties.ValueType, contentType, body, says)
		return
	}
	if got := CodeOf(err); got != Invalid {
		t.Errorf("%v: got code %d, want %d", err, got, Invalid)
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}
