package domain

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDataEventCheck(t *testing.T) {
	reading := func(change func(*ReadingValue)) func(*DataEventAdded) {
		return func(e *DataEventAdded) { change(&e.Readings[0]) }
	}
	long := strings.Repeat("x", MaxName+1)
	for _, tt := range []struct {
		change func(*DataEventAdded)
		says   string // nothing where all is right
	}{
		{func(*DataEventAdded) {}, ""},
		{func(e *DataEventAdded) { e.Event.ID = "" }, `id: "" is no UUID`},
		{func(e *DataEventAdded) { e.Event.ID = "x" }, `id: "x" is no UUID`},
		{func(e *DataEventAdded) { e.Event.Device = "" }, "deviceName: is missing"},
		{func(e *DataEventAdded) { e.Event.Profile = "a.b" }, `profileName: "a.b" has the character '.'`},
		{func(e *DataEventAdded) { e.Event.Source = long }, "sourceName: "},
		{func(e *DataEventAdded) { e.Event.Origin = 0 }, "origin: 0 is not a time"},
		{func(e *DataEventAdded) { e.Event.Tags = nil }, ""},
		{func(e *DataEventAdded) { e.Event.Tags = json.RawMessage(`["x"]`) }, "tags: "},
		{func(e *DataEventAdded) { e.Event.Tags = make(json.RawMessage, MaxDataTags+1) }, "tags: is 65537 bytes long"},
		{func(e *DataEventAdded) { e.Readings = nil }, "readings: is missing or empty"},
		{func(e *DataEventAdded) { e.Readings = make([]ReadingValue, MaxReadings+1) }, "readings: has 1001 entries"},
		{reading(func(r *ReadingValue) { r.ID = "x" }), `readings[0].id: "x" is no UUID`},
		{reading(func(r *ReadingValue) { r.Device = "a b" }), "readings[0].deviceName: "},
		{reading(func(r *ReadingValue) { r.Profile = "" }), "readings[0].profileName: "},
		{reading(func(r *ReadingValue) { r.Resource = "" }), "readings[0].resourceName: "},
		{reading(func(r *ReadingValue) { r.ValueType = "Text" }), `readings[0].valueType: "Text" is unknown`},
		{reading(func(r *ReadingValue) { r.Origin = -1 }), "readings[0].origin: "},
		{reading(func(r *ReadingValue) { r.Units = long }), "readings[0].units: "},
		{reading(func(r *ReadingValue) { r.MediaType = "no" + "\n" }), "readings[0].mediaType: "},
		{reading(func(r *ReadingValue) { r.Text = "" }), "readings[0].value: is missing"},
		{reading(func(r *ReadingValue) { r.Text = "warm" }), `readings[0].value: "warm" is no Float32`},
		{reading(func(r *ReadingValue) { r.Text, r.Digest = "", "9f" }), ""},
		{func(e *DataEventAdded) { e.Readings[1].Object = nil }, "readings[1].objectValue: is missing"},
		{func(e *DataEventAdded) { e.Readings[1].Object, e.Readings[1].Digest = nil, "9f" }, ""},
		{func(e *DataEventAdded) { e.Readings[2].Data = nil }, "readings[2].binaryValue: is missing"},
		{func(e *DataEventAdded) { e.Readings[2].Data, e.Readings[2].Digest = nil, "9f" }, ""},
		{func(e *DataEventAdded) { e.Readings[2].MediaType = "" }, "readings[2].mediaType: is missing"},
	} {
		problems := with(climate(), tt.change).Check()
		if got := joinProblems(problems); (tt.says == "") != (got == "") || !strings.HasPrefix(got, tt.says) {
			t.Errorf("got %q, want %q", got, tt.says)
		}
	}
}

// The texts are what EdgeX 2.3 writes and takes.
func TestTextOfType(t *testing.T) {
	for valueType, texts := range map[string]struct{ right, wrong []string }{
		"Bool":         {[]string{"true", "F", "1"}, []string{"yes", " true"}},
		"String":       {[]string{"", "x", "[1"}, nil},
		"Uint8":        {[]string{"0", "255"}, []string{"256", "-1", "0x10", "1.0", "+1"}},
		"Int8":         {[]string{"-128", "+127"}, []string{"128", "1_0"}},
		"Uint64":       {[]string{"18446744073709551615"}, []string{"18446744073709551616"}},
		"Int64":        {[]string{"-9223372036854775808"}, []string{"9223372036854775808"}},
		"Float32":      {[]string{"1.5", "1.500000e+00", "NaN", "-Inf", "0"}, []string{"1,5", "1e99"}},
		"Float64":      {[]string{"1e99"}, []string{"x", "1e999"}},
		"BoolArray":    {[]string{"[true, false]"}, []string{"", "[", "true", "[true false]", "[]"}},
		"StringArray":  {[]string{"[a b, c]", "["}, nil},
		"Int16Array":   {[]string{"[1]", "[1, -2]", "[1,2,3]", "[ 1 ,2 ]"}, []string{"[40000]", "1, 2", "[1, 2", "[1,,2]", "[1,]", "[1 2]"}},
		"Float64Array": {[]string{"[1.500000e+00, 2]"}, []string{"[1.5, x]"}},
	} {
		for _, text := range texts.right {
			if !isText(valueType, text) {
				t.Errorf("%q is %s", text, valueType)
			}
		}
		for _, text := range texts.wrong {
			if isText(valueType, text) {
				t.Errorf("%q is no %s", text, valueType)
			}
		}
	}
}
