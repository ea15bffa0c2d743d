package domain

import (
	"fmt"
	"reflect"
	"testing"
)

// contents reads every key of every table: what one can know of a state, whatever its tables are.
func contents(s State, keys map[string]bool) map[string]any {
	all := map[string]any{}
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		get := v.Field(i).MethodByName("Get")
		for key := range keys {
			if r := get.Call([]reflect.Value{reflect.ValueOf(key)}); r[1].Bool() {
				all[v.Type().Field(i).Name+" "+key] = r[0].Interface()
			}
		}
	}
	return all
}

// keysOf returns every key that any table has after any of the events.
func keysOf(events []Event) map[string]bool {
	keys, s := map[string]bool{}, NewMapState()
	for _, e := range events {
		e.Evolve(s)
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			for _, k := range v.Field(i).Elem().MapKeys() {
				keys[k.String()] = true
			}
		}
	}
	return keys
}

func fold(s State, events []Event) State {
	for _, e := range events {
		e.Evolve(s)
	}
	return s
}

func TestOverlaysFoldLikeMaps(t *testing.T) {
	for seed := range uint64(20) {
		events := walk(seed, 200)
		keys, n := keysOf(events), len(events)
		straight := fold(NewMapState(), events)
		want := contents(straight, keys)
		for _, cut := range [][2]int{{0, 0}, {0, n}, {n, n}, {n / 2, n / 2}, {n / 3, 2 * n / 3}, {1, 2}} {
			t.Run(fmt.Sprintf("walk %d cut at %v of %d", seed, cut, n), func(t *testing.T) {
				base := fold(NewMapState(), events[:cut[0]])
				middle := fold(Overlay(base), events[cut[0]:cut[1]])
				top := fold(Overlay(middle), events[cut[1]:])
				wantContents(t, top, keys, want)
				wantContents(t, middle, keys, contents(given(events[:cut[1]]...), keys))
				wantContents(t, base, keys, contents(given(events[:cut[0]]...), keys))
				for _, cmd := range commands() {
					wantSameDecision(t, cmd, top, straight)
				}
			})
		}
	}
}

func wantContents(t *testing.T, s State, keys map[string]bool, want map[string]any) {
	t.Helper()
	if got := contents(s, keys); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func wantSameDecision(t *testing.T, cmd Command, a, b State) {
	t.Helper()
	got, gotErr := cmd.Decide(a)
	want, wantErr := cmd.Decide(b)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotErr, wantErr) {
		t.Errorf("%#v: got %#v, %v, want %#v, %v", cmd, got, gotErr, want, wantErr)
	}
}

func TestOverlayHidesWhatIsDeleted(t *testing.T) {
	base := given(onboarded()...)
	top := Overlay(Overlay(base))
	DeviceRemoved{Device: camera()}.Evolve(top)
	if d, ok := top.Devices.Get("cam-1"); ok || d.Name != "" {
		t.Errorf("got %#v from the overlay, want none", d)
	}
	if _, ok := base.Devices.Get("cam-1"); !ok {
		t.Error("the base lost what only the overlay deleted")
	}
	DeviceAdded{Device: camera()}.Evolve(top)
	if _, ok := top.Devices.Get("cam-1"); !ok {
		t.Error("the overlay hides what was added after the deletion")
	}
}

// A stream's state leaves the tables of the other streams nil; an overlay reads them as empty.
func TestOverlayOverMissingTables(t *testing.T) {
	s := Overlay(State{Readings: MapTable[Reading]{}})
	if got := contents(s, map[string]bool{"cam-1": true, "": true}); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
	fold(s, onboarded())
	if _, ok := s.Devices.Get("cam-1"); !ok {
		t.Error("got no device, want the one that was added to the overlay")
	}
}
