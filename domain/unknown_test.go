package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
)

// TestUnknownFields holds that an event with a field that its type has not is refused, wherever the field is. Before, it was dropped, and a
// newer version's change with it.
func TestUnknownFields(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			w := mustReadGolden(t, k.name)
			typ := k.typ
			if isUpdate(k) {
				typ = reflect.TypeFor[Update]()
			}
			if w.ContentType == typeJSON && json.Valid(w.Data) {
				data := decodedJSON(t, w.Data)
				n := eachObject(typ, data, func(path string, _ reflect.Type, object map[string]any) {
					object["later"] = 1
					changed := w
					changed.Data = mustMarshal(t, data)
					mustBeUnknown(t, path, changed)
					delete(object, "later")
				})
				if n == 0 {
					t.Error("no object was tried")
				}
			}
			changed := w
			changed.Ext = maps.Clone(w.Ext)
			if changed.Ext == nil {
				changed.Ext = map[string]string{}
			}
			changed.Ext["later"] = "1"
			mustBeUnknown(t, "attribute", changed)
		})
	}
}

// TestUnknownFieldsOfChanges holds the same for the values in an update.
func TestUnknownFieldsOfChanges(t *testing.T) {
	for _, data := range []string{
		`{"modified":1,"changes":{"later":{"is":1}}}`,
		`{"modified":1,"changes":{"deviceCommands":{"at":0,"is":[{"name":"a","later":1}]}}}`,
		`{"modified":1,"changes":{"deviceResources":{"in":{"0":{"in":{"properties":{"is":{"later":""}}}}}}}}`,
		`{"modified":1,"changes":{"deviceResources":{"in":{"0":{"in":{"properties":{"later":1}}}}}}}`,
	} {
		mustBeUnknown(t, data, Wire{Type: "profile.updated/2", Subject: Subject{"profile", "p", "updated"}, ContentType: typeJSON, Data: []byte(data)})
	}
}

// TestUnknownChannelTypes holds that an event is refused if one of its channels has a type that only a newer version knows.
func TestUnknownChannelTypes(t *testing.T) {
	tried := 0
	for _, k := range kinds {
		w := mustReadGolden(t, k.name)
		if isUpdate(k) || w.ContentType != typeJSON {
			continue
		}
		data := decodedJSON(t, w.Data)
		eachObject(k.typ, data, func(path string, typ reflect.Type, object map[string]any) {
			if typ == reflect.TypeFor[Channel]() {
				tried++
				old := object["type"]
				object["type"] = "later"
				changed := w
				changed.Data = mustMarshal(t, data)
				mustBeUnknown(t, k.name+" "+path, changed)
				object["type"] = old
			}
		})
	}
	if tried < 10 {
		t.Errorf("%d channels were tried", tried)
	}
	for _, change := range []string{
		`"is":[{"type":"later"}]`, `"was":[{"type":"later"}]`, `"at":0,"is":[{"type":"later"}]`, `"at":0,"was":[{"type":"later"}]`,
		`"in":{"3":{"in":{"type":{"was":"REST","is":"later"}}}}`, `"in":{"3":{"in":{"type":{"was":"later","is":"REST"}}}}`, `"in":{"3":{"is":{"type":"later"}}}`,
	} {
		w := Wire{Type: "subscription.updated/4", Subject: Subject{"subscription", "s", "updated"}, ContentType: typeJSON}
		w.Data = []byte(`{"modified":1,"changes":{"channels":{` + change + `}}}`)
		mustBeUnknown(t, change, w)
	}
}

func mustBeUnknown(t *testing.T, what string, w Wire) {
	t.Helper()
	if e, err := DecodeStored(w); !errors.Is(err, errUnknown) || !strings.Contains(err.Error(), `"later"`) {
		t.Errorf("%s: got %v, %v, want an error that names the field", what, e, err)
	}
}

func decodedJSON(t *testing.T, data []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// eachObject visits each object of v that is decoded into a struct.
func eachObject(typ reflect.Type, v any, visit func(path string, typ reflect.Type, object map[string]any)) (n int) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			if typ.Kind() == reflect.Slice {
				n += eachObject(typ.Elem(), v[i], func(path string, typ reflect.Type, object map[string]any) {
					visit(fmt.Sprintf("%d.%s", i, path), typ, object)
				})
			}
		}
	case map[string]any:
		for name, member := range v {
			inner := func(path string, typ reflect.Type, object map[string]any) { visit(name+"."+path, typ, object) }
			switch typ.Kind() {
			case reflect.Struct:
				if f, ok := fieldOf(typ, name); ok {
					n += eachObject(f.Type, member, inner)
				}
			case reflect.Map:
				n += eachObject(typ.Elem(), member, inner)
			}
		}
		if typ.Kind() == reflect.Struct {
			visit("", typ, v)
			n++
		}
	}
	return n
}
