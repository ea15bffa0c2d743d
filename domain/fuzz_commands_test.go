package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// hostile are texts and JSON values that were recorded once and could not be read again, or might.
var hostile = []string{
	"", "\x00", "a\x00b", "\xff", "caf\xc3", "\ufffd", `\ufffd`, "\u2028<&>", `"\ud800"`, `["\udc00\ud800"]`, `{"a":1,"a":2}`, `1e400`, `-1e400`, `1e-400`, `1.0`,
	`9007199254740993`, "NaN", "null", "{}", `{"a":"` + "\xff" + `"}`, ` [ 1 , 2 ] `, `{"b":1,"a":null}`, "[1,", "1 2",
	strings.Repeat("[", 9_996) + strings.Repeat("]", 9_996), strings.Repeat(`{"a":`, 9_999) + "1" + strings.Repeat("}", 9_999),
	strings.Repeat("x", 100_000), strings.Repeat("1", 400),
}

// FuzzCommands puts a text into one place of a command: a text, a key, or free JSON. Whatever event comes of it is refused, or
// decodes from its stored form to an event that encodes and folds the same.
func FuzzCommands(f *testing.F) {
	for i := range hostile {
		for place := range 24 {
			f.Add(uint(i*7+place), uint(place), []byte(hostile[i]))
		}
	}
	f.Fuzz(func(t *testing.T, which, place uint, text []byte) {
		holdsBack(t, which, place, text)
	})
}

// TestHostileCommands puts hostile texts into every place of every command: with TEST_LEDGE_FAULTS=all each text into each.
func TestHostileCommands(t *testing.T) {
	t.Parallel()
	for which, cmd := range hostileCommands() {
		places := new(int)
		visit(reflect.ValueOf(cmd), places, -1, nil)
		for place := range *places {
			for i, text := range hostile {
				if (which+place+i)%6 != 0 && os.Getenv("TEST_LEDGE_FAULTS") != "all" {
					continue
				}
				holdsBack(t, uint(which), uint(place), []byte(text))
			}
		}
	}
}

// hostileCommands are all commands, and those that have free JSON everywhere.
func hostileCommands() []Command {
	free := with(pan(), func(r *DeviceResource) {
		r.Name, r.Attributes = "tilt", map[string]any{"unit": 1.0, "more": []any{"x"}}
	})
	return append(commands(), AddDeviceResource{"image", free, later},
		replaceImage(func(p *Profile) { p.DeviceResources = append(p.DeviceResources, free) }),
		addImage(func(p *Profile) {
			p.Name, p.ID, p.DeviceResources = "video", otherID, []DeviceResource{free}
			p.DeviceCommands = nil
		}),
		AddDevice{with(camera(), func(d *Device) { d.Name, d.ID, d.Location = "cam-2", otherID, json.RawMessage("[1]") })},
		patchCamera("location", json.RawMessage("[2]")),
		patchCamera("protocols", map[string]map[string]string{"modbus": {"port": "1"}}))
}

func holdsBack(t *testing.T, which, place uint, text []byte) {
	t.Helper()
	all := hostileCommands()
	cmd := all[which%uint(len(all))]
	places := new(int)
	visit(reflect.ValueOf(cmd), places, -1, nil)
	if *places > 0 {
		cmd = visit(reflect.ValueOf(cmd), new(int), int(place%uint(*places)), text).Interface().(Command)
	}
	state := given(everything()...)
	e, err := cmd.Decide(state)
	if e == nil || err != nil {
		return
	}
	w, e, err := Record(e)
	if err != nil {
		return
	}
	back, err := Decode(w)
	if err != nil {
		t.Fatalf("%T with %.40q at place %d is recorded, and then: %v", cmd, text, place, err)
	}
	if again := mustEncode(t, back); !bytes.Equal(again.Data, w.Data) || !maps.Equal(again.Ext, w.Ext) {
		t.Errorf("%T with %.40q at place %d:\ngot  %.300q\nwant %.300q", cmd, text, place, again.Data, w.Data)
	}
	live, replayed := state, given(everything()...)
	e.Evolve(live)
	back.Evolve(replayed)
	if got, want := asJSON(t, replayed), asJSON(t, live); got != want {
		t.Errorf("%T with %.40q at place %d: the fold of what is recorded differs:\ngot  %.2000s\nwant %.2000s", cmd, text, place, got, want)
	}
}

func asJSON(t *testing.T, s State) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("the state cannot be written: %v", err)
	}
	return string(text)
}

// visit returns a copy of v in which the text, the key or the free JSON at a place is another text; n counts the places.
func visit(v reflect.Value, n *int, place int, text []byte) reflect.Value {
	if !v.IsValid() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		if *n++; *n-1 == place {
			c.SetBytes(slices.Clone(text))
		}
		return c
	case v.Kind() == reflect.Interface && v.Type() != reflect.TypeFor[Command]() && v.Type() != reflect.TypeFor[Change]():
		if v.Type() == reflect.TypeFor[error]() {
			return c
		}
		if *n++; *n-1 == place {
			var free any = string(text)
			_ = json.Unmarshal(text, &free)
			if free != nil {
				c.Set(reflect.ValueOf(free))
			}
		}
		return c
	}
	switch v.Kind() {
	case reflect.String:
		if *n++; *n-1 == place {
			c.SetString(string(text))
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return c
		}
		inner := visit(v.Elem(), n, place, text)
		if v.Kind() == reflect.Pointer {
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(inner)
		} else {
			c.Set(inner)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.Field(i).Set(visit(v.Field(i), n, place, text))
			}
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return c
		}
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(visit(v.Index(i), n, place, text))
		}
	case reflect.Map:
		if v.IsNil() {
			return c
		}
		c.Set(reflect.MakeMap(v.Type()))
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			c.SetMapIndex(visit(k, n, place, text), visit(v.MapIndex(k), n, place, text))
		}
	}
	return c
}
