package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// golden is an event as a file in testdata/events shows it. Data is the event's JSON; for a reading, whose payload may
// be any bytes, it is a string in Base64.
type golden struct {
	Type        string            `json:"type"`
	Subject     Subject           `json:"subject"`
	ContentType string            `json:"contentType"`
	Ext         map[string]string `json:"ext"`
	Data        json.RawMessage   `json:"data"`
}

const goldenFolder = "testdata/events"

func goldenFile(kind string) string {
	return filepath.Join(goldenFolder, strings.ReplaceAll(kind, "/", "@")+".json")
}

func mustReadGolden(tb testing.TB, kind string) Wire {
	tb.Helper()
	text, err := os.ReadFile(goldenFile(kind))
	if err != nil {
		tb.Fatalf("%v; write one full example of the event by hand, and never edit it again", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var g golden
	if err := decoder.Decode(&g); err != nil {
		tb.Fatalf("%s: %v", goldenFile(kind), err)
	}
	w := Wire{Type: g.Type, Subject: g.Subject, ContentType: g.ContentType, Ext: g.Ext, Data: g.Data}
	if bytes.HasPrefix(g.Data, []byte(`"`)) {
		w.Data = nil
		if err := json.Unmarshal(g.Data, &w.Data); err != nil {
			tb.Fatalf("%s: data: %v", goldenFile(kind), err)
		}
	}
	if compact := new(bytes.Buffer); json.Compact(compact, w.Data) == nil { // as the log has it
		w.Data = compact.Bytes()
	}
	return w
}

// What was ever written is read, and means what it meant.
func TestGoldenEventsDecode(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			want, ok := goldens[k.name]
			if !ok {
				t.Fatalf("no event in golden_events_test.go says what %s means", goldenFile(k.name))
			}
			w := mustReadGolden(t, k.name)
			if w.Type != k.name {
				t.Errorf("%s: got type %q, want %q", goldenFile(k.name), w.Type, k.name)
			}
			if got := mustDecode(t, w); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %#v\nwant %#v", got, want)
			}
		})
	}
}

// Fields that came later without a new version are in files of their own, so that the first files stay as they are.
func TestGoldenVariants(t *testing.T) {
	for name, event := range goldenVariants {
		want := mustReadGolden(t, name)
		if got := mustDecode(t, want); !reflect.DeepEqual(got, event) {
			t.Errorf("%s: got  %#v\nwant %#v", name, got, event)
		}
		if got := mustEncode(t, event); got.Type != want.Type || !sameJSON(t, got.Data, want.Data) {
			t.Errorf("%s: got  %q\nwant %q", name, got.Data, want.Data)
		}
	}
}

// The newest version of each event is written as its file shows: an event whose JSON differs needs a new version. The fields of entities
// with the tag order are in the file's order.
func TestGoldenEventsEncode(t *testing.T) {
	for _, k := range byType {
		t.Run(k.name, func(t *testing.T) {
			want, got := mustReadGolden(t, k.name), mustEncode(t, goldens[k.name])
			if got.Type != want.Type || !slices.Equal(got.Subject, want.Subject) || got.ContentType != want.ContentType || !maps.Equal(got.Ext, want.Ext) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			inOrder := strings.HasPrefix(k.name, "device.") || strings.HasPrefix(k.name, "service.") || strings.HasPrefix(k.name, "watcher.")
			if !bytes.Equal(got.Data, want.Data) && (!sameJSON(t, got.Data, want.Data) || inOrder && !isUpdate(k)) {
				t.Errorf("got  %q\nwant %q", got.Data, want.Data)
			}
		})
	}
}

// sameJSON compares without rounding numbers to float64, which has no room for nanoseconds.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var values [2]any
	for i, text := range [][]byte{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&values[i]); err != nil {
			t.Errorf("%v: %q", err, text)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

func TestEveryGoldenFileHasKind(t *testing.T) {
	files, err := os.ReadDir(goldenFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.ReplaceAll(strings.TrimSuffix(f.Name(), ".json"), "@", "/")
		if _, ok := goldenVariants[name]; ok {
			continue
		}
		if _, ok := byName[name]; !ok {
			t.Errorf("%s: no line of kinds in types.go reads %q; a line is never taken away", f.Name(), name)
		}
	}
	for name := range goldens {
		if _, ok := byName[name]; !ok {
			t.Errorf("golden_events_test.go: no line of kinds in types.go reads %q", name)
		}
	}
}

// TestEveryFieldIsGolden holds that each field that an event can have is in a golden file: a field that is added comes with a variant.
func TestEveryFieldIsGolden(t *testing.T) {
	shown := map[string]bool{"DataEvent.readings": true, "DataEvent.size": true} // the fold counts these, the event has them not
	for _, name := range slices.Concat(slices.Collect(maps.Keys(byName)), slices.Collect(maps.Keys(goldenVariants))) {
		first, _, _ := strings.Cut(name, "+")
		if k := byName[first]; k.ext == nil && !isUpdate(k) {
			fieldsShown(k.typ, decodedJSON(t, mustReadGolden(t, name).Data), shown)
		}
	}
	for _, k := range byType {
		if k.ext != nil || isUpdate(k) {
			continue // no JSON, and the fields of an entity, which other events have
		}
		for _, field := range fieldsOf(k.typ, nil) {
			if !shown[field] {
				t.Errorf("%s: no golden file has %s", k.name, field)
			}
		}
	}
}

func isUpdate(k kind) bool {
	return k.typ.NumField() == 1 && k.typ.Field(0).Type == reflect.TypeFor[Update]()
}

// fieldsShown notes the fields of structs that a value has, as Type.field.
func fieldsShown(typ reflect.Type, v any, shown map[string]bool) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			if typ.Kind() == reflect.Slice {
				fieldsShown(typ.Elem(), element, shown)
			}
		}
	case map[string]any:
		for name, member := range v {
			switch typ.Kind() {
			case reflect.Struct:
				if f, ok := fieldOf(typ, name); ok {
					shown[typ.Name()+"."+name] = true
					fieldsShown(f.Type, member, shown)
				}
			case reflect.Map:
				fieldsShown(typ.Elem(), member, shown)
			}
		}
	}
}

// fieldsOf lists the fields of a struct and of those in it, as Type.field.
func fieldsOf(typ reflect.Type, seen []reflect.Type) (fields []string) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fieldsOf(typ.Elem(), seen)
	case reflect.Struct:
		if slices.Contains(seen, typ) {
			return nil
		}
		for i := range typ.NumField() {
			if name := jsonName(typ.Field(i)); name != "" && name != "-" {
				fields = append(fields, typ.Name()+"."+name)
				fields = append(fields, fieldsOf(typ.Field(i).Type, append(seen, typ))...)
			}
		}
	}
	return fields
}
