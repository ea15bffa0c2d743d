package jsonform

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"ledge/domain"
)

// TestMistypedPlaces holds that a value of a wrong type is named by its whole path.
func TestMistypedPlaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"machine":{"port":"1"}}`:                                                             "[3].machine.port: a JSON string",
		`{"machine":{"port":1.5}}`:                                                             "[3].machine.port: a JSON number 1.5",
		`{"machine":{"parts":[{}, {"properties":{"valueType":7}}]}}`:                           "[3].machine.parts[1].properties.valueType: a JSON number",
		`{"machine":{"parts":[{},{"properties":{"valueType":{}}}]}}`:                           "[3].machine.parts[1].properties.valueType: a JSON object",
		`{"machine":{"parts":[{},{"properties":[1]}]}}`:                                        "[3].machine.parts[1].properties: a JSON array",
		`{"machine":{"parts":[ {} , 5 ]}}`:                                                     "[3].machine.parts[1]: a JSON number",
		`{"machine":{"labels":["a,]}","b",true]}}`:                                             "[3].machine.labels[2]: a JSON bool",
		`{"machine":{"protocols":{"other":{"a\"}":"x"},"modbus":{"Address":"h","Port":502}}}}`: "[3].machine.protocols.modbus.Port: a JSON number",
		`{"machine":{"protocols":{"modbus":"x"}}}`:                                             "[3].machine.protocols.modbus: a JSON string",
		`{ "machine" : { "location" : {"a":[{"b":1}]} , "adminState" : [ "LOCKED" ] } }`:       "[3].machine.adminState: a JSON array",
		`{"requestId":7}`:                     "[3].requestId: a JSON number",
		`7`:                                   "[3]: a JSON number",
		`{"machine":{"parts":{"a":[1,2,3]}}}`: "[3].machine.parts: a JSON object",
		`{"MACHINE":{"ADMINSTATE":7}}`:        "[3].MACHINE.ADMINSTATE: a JSON number",
	} {
		var v plant
		err := json.Unmarshal([]byte(text), &v)
		mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if !ok {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var p domain.Problems
		AddMistyped(&p, "[3]", []byte(text), mistyped)
		if got := p.Err().Error(); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("%s: got %q, want %q…", text, got, want)
		}
	}
}

// FuzzMistypedPlaces holds that looking for the place ends, whatever the text is.
func FuzzMistypedPlaces(f *testing.F) {
	f.Add([]byte(`{"machine":{"parts":[{"properties":{"valueType":7}}]}}`), 40)
	f.Add([]byte(`}],{"\`), 2)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		place := placeOf(text, at)
		var p domain.Problems
		AddMistyped(&p, "[3]", text, &json.UnmarshalTypeError{Value: "number", Type: reflect.TypeFor[string](), Offset: int64(at), Field: place})
	})
}
