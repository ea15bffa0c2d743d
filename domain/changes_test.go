package domain

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// mustDiff holds that what differs, written and read again, makes after of before and before of after.
func mustDiff[T any](t *testing.T, before, after T) Changes {
	t.Helper()
	changes, err := Diff(before, after)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(changes)
	if err != nil {
		t.Fatal(err)
	}
	var read Changes
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.check(reflect.TypeFor[T]()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, way := range []struct {
		name      string
		from, to  T
		backwards bool
	}{{"forwards", before, after, false}, {"backwards", after, before, true}} {
		was := fmt.Sprintf("%#v", way.from)
		if got := applied(read, way.from, way.backwards); !sameEntity(t, got, way.to) {
			t.Errorf("%s, %s:\ngot  %#v\nwant %#v", way.name, text, got, way.to)
		}
		if fmt.Sprintf("%#v", way.from) != was {
			t.Errorf("%s, %s: changed what it was applied to", way.name, text)
		}
	}
	return changes
}

// sameEntity takes empty lists and maps for none, as [Diff] does.
func sameEntity[T any](t *testing.T, a, b T) bool {
	t.Helper()
	changes, err := Diff(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return len(changes) == 0
}

func TestDiffOfDevices(t *testing.T) {
	tests := map[string]func(*Device){
		`{}`: func(*Device) {},
		`{"adminState":{"was":"UNLOCKED","is":"LOCKED"}}`:                             func(d *Device) { d.AdminState = StateLocked },
		`{"labels":{"at":1,"is":["b"]}}`:                                              func(d *Device) { d.Labels = []string{"indoor", "b"} },
		`{"labels":{"in":{"0":{"was":"indoor","is":"b"}}}}`:                           func(d *Device) { d.Labels = []string{"b"} },
		`{"labels":{"was":["indoor"]}}`:                                               func(d *Device) { d.Labels = nil },
		`{"labels":{"was":["indoor"],"is":[]}}`:                                       func(d *Device) { d.Labels = []string{} },
		`{"location":{"is":{"a":1}}}`:                                                 func(d *Device) { d.Location = json.RawMessage(`{"a":1}`) },
		`{"protocols":{"in":{"m":{"is":{"":""}}}}}`:                                   func(d *Device) { d.Protocols = protocols("other", nil, "m", map[string]string{"": ""}) },
		`{"protocols":{"in":{"m":{"is":{}},"other":{"was":{}}}}}`:                     func(d *Device) { d.Protocols = protocols("m", nil) },
		`{"autoEvents":{"is":[{"interval":"1s","onChange":false,"sourceName":"a"}]}}`: func(d *Device) { d.AutoEvents = []AutoEvent{{"1s", false, "a"}} },
	}
	for want, edit := range tests {
		changes := mustDiff(t, camera(), with(camera(), edit))
		if changes == nil {
			changes = Changes{}
		}
		if got, _ := json.Marshal(changes); string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func protocols(pairs ...any) map[string]map[string]string {
	m := map[string]map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		inner, _ := pairs[i+1].(map[string]string)
		if inner == nil {
			inner = map[string]string{}
		}
		m[pairs[i].(string)] = inner
	}
	return m
}

// TestSmallChangeOfLarge holds that one label of 10,000, one property and one member of a large resource make small events.
func TestSmallChangeOfLarge(t *testing.T) {
	device := camera()
	for i := range 10_000 {
		device.Labels = append(device.Labels, fmt.Sprint("label-", i))
		device.Protocols[fmt.Sprint("p", i)] = map[string]string{"host": "10.0.0.7", "port": "80"}
	}
	relabelled := with(device, func(d *Device) { d.Labels = slices.Clone(d.Labels); d.Labels[5000] = "other" })
	moved := with(device, func(d *Device) {
		d.Protocols = reread(t, DeviceAdded{Device: device}).(DeviceAdded).Device.Protocols
		d.Protocols["p77"]["port"] = "8080"
	})
	profile := imageProfile()
	for i := range 2000 {
		profile.DeviceResources = append(profile.DeviceResources, DeviceResource{Name: fmt.Sprint("r", i), Attributes: map[string]any{"a": float64(i)}})
	}
	described := with(profile, func(p *Profile) {
		p.DeviceResources = slices.Clone(p.DeviceResources)
		p.DeviceResources[1500].Description = "x"
	})
	for name, c := range map[string]Changes{
		"label": mustDiff(t, device, relabelled), "property": mustDiff(t, device, moved), "resource": mustDiff(t, profile, described),
	} {
		if text, _ := json.Marshal(c); len(text) == 0 || len(text) > 100 {
			t.Errorf("%s: %d bytes: %.300s", name, len(text), text)
		}
	}
}

// TestDiffOfAnything compares random devices and profiles.
func TestDiffOfAnything(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		mustDiff(t, anyDevice(r), anyDevice(r))
		mustDiff(t, anyProfile(r), anyProfile(r))
	}
}

func anyTexts(r *rand.Rand) (list []string) {
	for range r.IntN(6) {
		list = append(list, fmt.Sprint("t", r.IntN(4)))
	}
	return list
}

func anyDevice(r *rand.Rand) Device {
	d := with(camera(), func(d *Device) { d.Labels, d.Notify = anyTexts(r), r.IntN(2) == 0 })
	for _, name := range anyTexts(r) {
		d.Protocols[name] = map[string]string{}
		for _, key := range anyTexts(r) {
			d.Protocols[name][key] = []string{"", "a", "b"}[r.IntN(3)]
		}
		d.AutoEvents = append(d.AutoEvents, AutoEvent{Interval: name, OnChange: r.IntN(2) == 0})
	}
	d.Location = []json.RawMessage{nil, json.RawMessage("null"), json.RawMessage(`{"a":[1]}`)}[r.IntN(3)]
	return d
}

func anyProfile(r *rand.Rand) Profile {
	p := imageProfile()
	for _, name := range anyTexts(r) {
		resource := DeviceResource{Name: name, Attributes: map[string]any{}}
		for _, key := range anyTexts(r) {
			resource.Attributes[key] = []any{nil, 1.5, "x", []any{true}, map[string]any{"b": nil}}[r.IntN(5)]
		}
		p.DeviceResources = slices.Insert(p.DeviceResources, r.IntN(len(p.DeviceResources)+1), resource)
	}
	return p
}

// TestUpdateOfNothing holds that an update of an entity that is not there does nothing, as after an event that was skipped.
func TestUpdateOfNothing(t *testing.T) {
	for _, e := range []Event{
		goldens["device.updated/2"], goldens["profile.updated/2"], goldens["service.updated/2"], goldens["watcher.updated/2"], goldens["subscription.updated/3"], goldens["subscription.updated/4"],
	} {
		s := NewMapState()
		e.Evolve(s)
		if !reflect.DeepEqual(s, NewMapState()) || !reflect.DeepEqual(Whole(s, e), e) {
			t.Errorf("%T: got %v", e, s)
		}
	}
}

// TestUpdateThatDoesNotFit holds that an update of another state than it was decided on does not fail.
func TestUpdateThatDoesNotFit(t *testing.T) {
	s := NewMapState()
	s.Devices.Put("cam-1", Device{Name: "cam-1"})
	s.Profiles.Put("sample-image", Profile{Name: "sample-image"})
	for _, name := range []string{"device.updated/2", "profile.updated/2"} {
		goldens[name].Evolve(s)
	}
	if d, _ := s.Devices.Get("cam-1"); d.AdminState != StateLocked || !slices.Equal(d.Labels, []string{"yard", "street"}) {
		t.Errorf("got %+v", d)
	}
}

// TestDecodeRefusesWrongChanges holds that what cannot be applied is not decoded.
func TestDecodeRefusesWrongChanges(t *testing.T) {
	for data, says := range map[string]string{
		`{"changes":{"adminState":{"is":1}}}`:                     "adminState",
		`{"changes":{"labels":{"at":-1}}}`:                        "at -1",
		`{"changes":{"adminState":{"at":1}}}`:                     "no place in a list",
		`{"changes":{"labels":{"in":{"x":{}}}}}`:                  "no index",
		`{"changes":{"adminState":{"in":{"x":{}}}}}`:              "no members",
		`{"changes":{"colour":{"is":"red"}}}`:                     "unknown to this version",
		`{"changes":{"autoEvents":{"in":{"0":{"in":{"x":{}}}}}}}`: "unknown to this version",
	} {
		if e, err := Decode(Wire{Type: "device.updated/2", Subject: Subject{"device", "cam-1", "updated"}, Data: []byte(data)}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %#v, %v, want %s", data, e, err, says)
		}
	}
	w := Wire{Type: "device.updated/2", Subject: Subject{"device", "cam-1", "updated"}, Data: []byte(`{"changes":{"colour":{"is":"red"}}}`)}
	if e, err := DecodeStored(w); err == nil {
		t.Errorf("got %#v: a field of a newer version must not be skipped", e)
	}
}

// TestLargeUpdate counts the bytes allocated for a change of a long text, in lengths of its JSON. Encoding/json takes 3.5 to encode it,
// 6 to decode it, and several times the processor time. The appender does it while all other requests wait.
func TestLargeUpdate(t *testing.T) {
	s := given(onboarded()...)
	device, _ := s.Devices.Get("cam-1")
	device.Description = strings.Repeat("was ", 500_000)
	s.Devices.Put(device.Name, device)
	e := mustDecide(t, s, patchCamera("description", strings.Repeat("is now ", 300_000)))
	w := mustEncode(t, e)
	for _, c := range []struct {
		name string
		most float64
		run  func()
	}{
		{"encode", 2.5, func() { mustEncode(t, e) }},
		{"decode", 4, func() { mustDecode(t, w) }},
		{"evolve", 1, func() { e.Evolve(s) }},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.run()
		runtime.ReadMemStats(&after)
		if got := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(w.Data)); got > c.most {
			t.Errorf("%s allocates %.1f lengths, want %.1f at most", c.name, got, c.most)
		}
	}
}

// TestMerge merges the changes of random entities, step by step. They lead from the first entity to the last and back, and show the fields
// that differ between these.
func TestMerge(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	merged := 0
	for range 300 {
		merged += mergeSteps(t, r, anyDevice, alterDevice) + mergeSteps(t, r, anyProfile, alterProfile)
	}
	if merged < 1500 {
		t.Errorf("%d changes of 3000 were merged", merged)
	}
}

// mergeSteps returns the number of changes that were merged.
func mergeSteps[T any](t *testing.T, r *rand.Rand, first func(*rand.Rand) T, next func(*rand.Rand, T) T) (merged int) {
	t.Helper()
	before := first(r)
	last, changes := before, Changes{}
	for range 5 {
		after := next(r, last)
		step := mustDiff(t, last, after)
		was := fmt.Sprintf("%#v %#v", changes, step)
		all, ok := Merge[T](changes, step)
		if got := fmt.Sprintf("%#v %#v", changes, step); got != was {
			t.Fatalf("the changes were altered: %s\nthey were %s", got, was)
		}
		if !ok {
			return merged
		}
		merged++
		last, changes = after, all
		forth, back := applied(changes, before, false), applied(changes, last, true)
		if !sameEntity(t, forth, last) || !sameEntity(t, back, before) {
			t.Fatalf("%+v\nfrom %#v\nto %#v\ngot %#v\nand %#v", changes, before, last, forth, back)
		}
		if want := mustDiff(t, before, last); !slices.Equal(want.Names(), changes.Names()) {
			t.Fatalf("got the fields %v, want %v", changes.Names(), want.Names())
		}
	}
	return merged
}

func alterDevice(r *rand.Rand, d Device) Device {
	other := anyDevice(r)
	switch r.IntN(5) {
	case 0:
		d.Labels = alterTexts(r, d.Labels)
	case 1:
		d.Protocols = other.Protocols
	case 2:
		d.AutoEvents, d.Notify = other.AutoEvents, other.Notify
	case 3:
		d.Location = other.Location
	default:
		if d.AutoEvents = slices.Clone(d.AutoEvents); len(d.AutoEvents) > 0 {
			d.AutoEvents[r.IntN(len(d.AutoEvents))].Interval = fmt.Sprint(r.IntN(3))
		}
	}
	return d
}

func alterTexts(r *rand.Rand, list []string) []string {
	from := r.IntN(len(list) + 1)
	to := from + r.IntN(len(list)-from+1)
	return slices.Replace(slices.Clone(list), from, to, anyTexts(r)...)
}

func alterProfile(r *rand.Rand, p Profile) Profile {
	if r.IntN(3) == 0 {
		p.DeviceResources = slices.Clone(p.DeviceResources)
		p.DeviceResources[r.IntN(len(p.DeviceResources))].Description = fmt.Sprint(r.IntN(3))
		return p
	}
	p.DeviceResources = anyProfile(r).DeviceResources
	return p
}
