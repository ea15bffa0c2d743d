package jsonform

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Head is as handlers.Head.
type Head struct {
	APIVersion string `json:"apiVersion"`
	RequestID  string `json:"requestId"`
}

type plant struct {
	Head
	Machine machine `json:"machine"`
}

type machine struct {
	AdminState string                       `json:"adminState"`
	Labels     []string                     `json:"labels"`
	Port       *int                         `json:"port"`
	Parts      []part                       `json:"parts"`
	Protocols  map[string]map[string]string `json:"protocols"`
	Location   json.RawMessage              `json:"location"`
}

type part struct {
	Properties *struct {
		ValueType string `json:"valueType"`
	} `json:"properties"`
}

// TestUnknownKeys tells misspelled keys from keys of others, wherever they are, and finds none in maps.
func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		object, misspelled, message string
	}{
		{`{"apiVersion":"v2","machine":{"adminState":"LOCKED","labels":["a"]}}`, "", ""},
		{` { "ApiVersion" : "v2" , "machine" : { "ADMINSTATE" : "LOCKED" , "port" : 1 , "labels" : [ ] , "parts" : [ ] } } `, "", ""},
		{`{"machine":{"adminstat":"LOCKED"}}`, "machine.adminstat: is an unknown key; did you mean adminState?", ""},
		{`{"machine":{"AdminStat":"LOCKED"}}`, "machine.AdminStat: is an unknown key; did you mean adminState?", ""},
		{`{"machine":{"adminStaet":"LOCKED","adminState":"LOCKED"}}`, "", "ignored, because unknown: machine.adminStaet"},
		{`{"machine":{"px":1,"colour":"red"},"by":"me"}`, "", "ignored, because unknown: by, machine.colour, machine.px"},
		{`{"machine":{"parts":[{},{"properties":{"valueTyp":"Bool"}}]}}`, "machine.parts[1].properties.valueTyp: is an unknown key; did you mean valueType?", ""},
		{`{"machine":{"parts":[{"propertie":{}},{"unit":[{"a":"}"}]}]}}`, "machine.parts[0].propertie: is an unknown key; did you mean properties?", "ignored, because unknown: machine.parts[1].unit"},
		{`{"machine":{"protocols":{"adminstat":{"labls":"x"}},"location":{"adminstat":[{"labls":1}]}}}`, "", ""},
		{`{"machine":{"l\u0061bels":["a"],"\u0061dminstat":"LOCKED","adminState":"LOCKED"}}`, "", "ignored, because unknown: machine.adminstat"},
		{`{"machine":null}`, "", ""},
		{`{"machine":{"parts":[{"unit":1},{"unit":2,"properties":{"unit":3}},{"unit":4}]},"unit":5}`, "",
			"ignored, because unknown: machine.parts[0].unit and 2 more, machine.parts[1].properties.unit, unit"},
		{`{"machine":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}}`, "",
			"ignored, because unknown: machine.a, machine.b, machine.c, machine.d, machine.e, machine.f, machine.g, machine.h, and others"},
		// The first 20 unknown keys are compared with those that are missing.
		{`{"machine":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"s":1,"zabels":[]}}`, "machine.zabels: is an unknown key; did you mean labels?",
			"ignored, because unknown: machine.a, machine.b, machine.c, machine.d, machine.e, machine.f, machine.g, machine.h, and others"},
		{`{"machine":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"s":1,"t":1,"zabels":[]}}`, "",
			"ignored, because unknown: machine.a, machine.b, machine.c, machine.d, machine.e, machine.f, machine.g, machine.h, and others"},
	} {
		u := FindUnknown([]byte(tt.object), "", reflect.TypeFor[plant]())
		misspelled := ""
		if err := u.Misspelled.Err(); err != nil {
			misspelled = err.Error()
		}
		if misspelled != tt.misspelled || u.Message() != tt.message {
			t.Errorf("%s:\ngot  %q, %q\nwant %q, %q", tt.object, misspelled, u.Message(), tt.misspelled, tt.message)
		}
	}
}

// FuzzKnownKeys holds that looking for keys ends, within the text, whatever the text is.
func FuzzKnownKeys(f *testing.F) {
	for _, text := range []string{`{"machine":{"parts":[{"properties":{"valueType":"x"}}]}}`, `{"machine"`, `{"machine":{"parts":[[]]}}`, `{"a":{`, `{"machine":"x}`, "[", `{"\`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		u := FindUnknown(text, "", reflect.TypeFor[plant]())
		if json.Valid(text) && len(text) > 0 && text[0] == '{' && len(u.ignored)+len(u.Misspelled) == 0 {
			var v plant
			strict := json.NewDecoder(bytes.NewReader(text))
			strict.DisallowUnknownFields()
			if err := strict.Decode(&v); err != nil && strings.Contains(err.Error(), "unknown field") {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
