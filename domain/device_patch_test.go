package domain

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

func patchCamera(edit ...any) UpdateDevice {
	return UpdateDevice{Patch: PatchOf[Device](append(fields{"name", "cam-1"}, edit...)...), At: later}
}

func TestUpdateDevice(t *testing.T) {
	locked := with(camera(), func(d *Device) { d.AdminState, d.Modified = StateLocked, later })
	lock := fields{"adminState", StateLocked}
	runDecisions(t, []decision{
		{name: "by name", given: onboarded(), when: patchCamera(lock...), want: DeviceUpdated{locked, []string{"adminState"}}},
		{name: "by id", given: onboarded(), when: UpdateDevice{PatchOf[Device]("id", cameraID, "adminState", StateLocked), later, ""},
			want: DeviceUpdated{locked, []string{"adminState"}}},
		{name: "by both", given: onboarded(), when: patchCamera(append(lock, "id", cameraID)...),
			want: DeviceUpdated{locked, []string{"adminState"}}},
		{name: "nothing but the name", given: onboarded(), when: patchCamera()},
		{name: "values as they are", given: onboarded(), when: patchCamera("adminState", StateUnlocked,
			"labels", []string{"indoor"}, "protocols", camera().Protocols, "autoEvents", []AutoEvent{}, "location", json.RawMessage("null"))},
		{name: "neither id nor name", given: onboarded(), when: UpdateDevice{PatchOf[Device]("adminState", StateLocked), later, ""},
			code: Invalid, says: "name: is missing, and so is id; give one of them"},
		{name: "empty id beside the name", given: onboarded(), when: patchCamera(append(lock, "id", "")...),
			want: DeviceUpdated{locked, []string{"adminState"}}},
		{name: "empty id", given: onboarded(), when: UpdateDevice{PatchOf[Device]("id", ""), later, ""},
			code: Invalid, says: "id: is missing or empty; give a value"},
		{name: "id that is none", given: onboarded(), when: patchCamera("id", "17"),
			code: Invalid, says: `id: "17" is no UUID; give the id that it has, or only the name`},
		{name: "no such id", given: onboarded(), when: UpdateDevice{PatchOf[Device]("id", otherID), later, ""},
			code: NotFound, says: `device id "` + otherID + `" does not exist`},
		{name: "no such name", given: onboarded(), when: UpdateDevice{PatchOf[Device]("name", "cam-2"), later, ""},
			code: NotFound, says: `device "cam-2" does not exist`},
		{name: "id of one, name of another", given: onboarded(),
			when: UpdateDevice{PatchOf[Device]("id", cameraID, "name", "cam-2"), later, ""},
			code: Invalid, says: `device id "` + cameraID + `" belongs to "cam-1", not to "cam-2"; give only one of id and name`},
		{name: "no such profile", given: onboarded(), when: patchCamera("profileName", "imgae"),
			code: NotFound, says: `device profile "imgae" does not exist; upload it first or correct profileName`},
		{name: "no such service", given: onboarded(), when: patchCamera("serviceName", "device-x"),
			code: NotFound, says: `device service "device-x" does not exist; add it first or correct serviceName`},
		{name: "protocolName taken from device-rest", given: onboarded(), when: patchCamera("protocolName", ""),
			code: Invalid, says: `protocolName: is missing; devices of "device-rest" need it`},
		{name: "unknown adminState", given: onboarded(), when: patchCamera("adminState", "OPEN"),
			code: Invalid, says: `adminState: "OPEN" is unknown; use one of LOCKED, UNLOCKED`},
		{name: "unknown operatingState", given: onboarded(), when: patchCamera("operatingState", "OFF"),
			code: Invalid, says: `operatingState: "OFF" is unknown; use one of UP, DOWN, UNKNOWN`},
		{name: "no protocols", given: onboarded(), when: patchCamera("protocols", map[string]map[string]string{}),
			code: Invalid, says: "protocols: is empty; give at least one protocol, or leave it out"},
		{name: "negative interval", given: onboarded(),
			when: patchCamera("autoEvents", []AutoEvent{{Interval: "-1s", SourceName: "zoom"}}),
			code: Invalid, says: `autoEvents[0].interval: "-1s" is not a duration; write it as 300ms`},
	})
}

// The order of an object's members and the spelling of its text are not a change.
func TestUpdateDeviceToTheSameLocation(t *testing.T) {
	state := given(append(catalogue(), DeviceAdded{Device: with(camera(), func(d *Device) {
		d.Location = json.RawMessage(`{"at":[{"lat":1.50,"lng":2}],"room":"caf\u00e9"}`)
	})})...)
	for location, change := range map[string]bool{
		`{"at":[{"lat":1.50,"lng":2}],"room":"café"}`:          false,
		` { "room":"caf\u00e9", "at":[{"lng":2,"lat":1.50}] }`: false,
		`{"at":[{"lat":1.50,"lng":2}]}`:                        true,
		`{"at":[{"lat":1.51,"lng":2}],"room":"café"}`:          true,
		`"room"`: true,
	} {
		got, err := patchCamera("location", json.RawMessage(location)).Decide(state)
		if err != nil || (got != nil) != change {
			t.Errorf("%s: got %v, %v, want a change: %v", location, got, err, change)
		}
	}
}

func TestUpdateDeviceNamesWhatChanged(t *testing.T) {
	state := given(append(onboarded(),
		ProfileAdded{Profile: with(imageProfile(), func(p *Profile) { p.Name, p.ID = "video", otherID })},
		ServiceAdded{Service: with(restService(), func(d *DeviceService) { d.Name, d.ID = "device-onvif", otherID })})...)
	tests := []struct {
		edit fields
		want []string
	}{
		{fields{"description", "north door"}, []string{"description"}},
		{fields{"operatingState", StateDown}, []string{"operatingState"}},
		{fields{"lastConnected", int64(5)}, []string{"lastConnected"}},
		{fields{"lastReported", int64(6)}, []string{"lastReported"}},
		{fields{"serviceName", "device-onvif"}, []string{"serviceName"}},
		{fields{"profileName", "video"}, []string{"profileName"}},
		{fields{"protocolName", "http"}, []string{"protocolName"}},
		{fields{"labels", []string{}}, []string{"labels"}},
		{fields{"location", json.RawMessage(`[1,2]`)}, []string{"location"}},
		{fields{"autoEvents", []AutoEvent{{"1s", true, "zoom"}}}, []string{"autoEvents"}},
		{fields{"protocols", map[string]map[string]string{"other": {"a": "b"}}}, []string{"protocols"}},
		{fields{"notify", true}, []string{"notify"}},
		{fields{"notify", true, "adminState", StateLocked, "description", ""}, []string{"adminState", "notify"}},
	}
	for _, tt := range tests {
		cmd := patchCamera(tt.edit...)
		got, ok := Whole(state, mustDecide(t, state, cmd)).(DeviceUpdated)
		if !ok || !slices.Equal(got.Changed, tt.want) {
			t.Errorf("got %#v, want Changed %v", got, tt.want)
			continue
		}
		want := cmd.Patch.Apply(camera())
		want.Modified = later
		if !reflect.DeepEqual(got.Device, want) {
			t.Errorf("got  %#v\nwant %#v", got.Device, want)
		}
	}
}

// shape is a device as a version of an API may have it: one field has another name, and some cannot be changed.
type shape struct {
	Created   int64                        `json:"created" patch:"-"`
	Title     string                       `json:"-" patch:"-"`
	Name      string                       `json:"name"`
	Notify    bool                         `json:"tell"`
	Labels    []string                     `json:"labels,omitempty"`
	Protocols map[string]map[string]string `json:"protocols"`
	Location  json.RawMessage              `json:"location"`
}

func (s shape) entity() Device {
	return Device{Name: s.Name, Notify: s.Notify, Labels: s.Labels, Protocols: s.Protocols, Location: s.Location}
}

// readShape decodes a patch of a shape as handlers do.
func readShape(t *testing.T, text string) Patch[Device] {
	t.Helper()
	form := PatchFormOf[shape]()
	v := reflect.New(form.Type())
	if err := json.Unmarshal([]byte(text), v.Interface()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return PatchAs(form.Read(v.Elem()), shape.entity)
}

// TestPatchMembers holds that null gives no value, that an empty value is one, and that a patch does not have members such as its times.
func TestPatchMembers(t *testing.T) {
	for text, want := range map[string]Patch[Device]{
		`{}`: PatchOf[Device](),
		`{"name":null,"tell":null,"labels":null,"protocols":null}`: PatchOf[Device](),
		`{"name":"a","name":null}`:                                 PatchOf[Device](),
		`{"name":"","tell":false,"labels":[],"protocols":{}}`: PatchOf[Device](
			"name", "", "notify", false, "labels", []string{}, "protocols", Protocols{}),
		`{"NAME":"a","created":"x","notify":true,"Title":7}`: PatchOf[Device]("name", "a"),
		`{"location":{"a":[1]},"labels":["b"]}`: PatchOf[Device](
			"location", json.RawMessage(`{"a":[1]}`), "labels", []string{"b"}),
		`{"protocols":{"a":{"b":"c"}}, "tell" : true, "other":null}`: PatchOf[Device]("protocols", Protocols{"a": {"b": "c"}}, "notify", true),
	} {
		if got := readShape(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %#v\nwant %#v", text, got, want)
		}
	}
}

// Protocols is short for the type of a device's field.
type Protocols = map[string]map[string]string

// TestPatchApplies holds that a map replaces the one that is there, that null and the same value leave a location alone, and that id and
// name stay.
func TestPatchApplies(t *testing.T) {
	before := with(camera(), func(d *Device) {
		d.Location, d.Notify, d.Protocols = json.RawMessage(`{"a":1,"b":2}`), true, Protocols{"http": {"host": "a"}}
	})
	for text, edit := range map[string]func(*Device){
		`{"protocols":{"other":{}}}`:           func(d *Device) { d.Protocols = Protocols{"other": {}} },
		`{"protocols":null,"location":null}`:   func(*Device) {},
		`{"location":{ "b":2, "a":1 }}`:        func(*Device) {},
		`{"location":{ "b":3 }}`:               func(d *Device) { d.Location = json.RawMessage(`{"b":3}`) },
		`{"name":"cam-2","tell":false}`:        func(d *Device) { d.Notify = false },
		`{"labels":[]}`:                        func(d *Device) { d.Labels = []string{} },
		`{"labels":["a","b"],"created":"now"}`: func(d *Device) { d.Labels = []string{"a", "b"} },
	} {
		if got, want := readShape(t, text).Apply(before), with(before, edit); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %#v\nwant %#v", text, got, want)
		}
	}
	if got := PatchOf[Device]("id", otherID, "name", "cam-2").Apply(before); !reflect.DeepEqual(got, before) {
		t.Errorf("id and name: got %#v, want %#v", got, before)
	}
}

// TestPatchIsCheckedByItsFields holds that a patch is not refused for a field that it does not have, nor for one that only Decide refuses:
// the whole request would be refused.
func TestPatchIsCheckedByItsFields(t *testing.T) {
	for name, problems := range map[string]Problems{
		"device":      PatchOf[Device]("name", "cam-1", "serviceName", DeviceREST).Check(),
		"service":     PatchOf[DeviceService]("name", "device-modbus", "labels", []string{}).Check(),
		"watcher":     PatchOf[ProvisionWatcher]("name", "finder", "profileName", "image").Check(),
		"resendLimit": PatchOf[Subscription]("name", "gate", "resendLimit", -1).Check(),
		"categories":  PatchOf[Subscription]("name", "gate", "categories", []string{}).Check(),
		"labels":      PatchOf[Subscription]("name", "gate", "labels", []string{}).Check(),
	} {
		if len(problems) > 0 {
			t.Errorf("%s: got %q, want no problem", name, problems)
		}
	}
	got := PatchOf[Subscription]("name", "gate", "categories", []string{}, "labels", []string{}).Check()
	const want = "categories: is empty, and so is labels; give one of them, or leave one out to keep what is there"
	if len(got) != 1 || got[0].String() != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRulesAreForFields holds that each rule is for a field that its type has: a misspelled one would not check a patch.
func TestRulesAreForFields(t *testing.T) {
	checkRules[Device](t)
	checkRules[DeviceService](t)
	checkRules[ProvisionWatcher](t)
	checkRules[Subscription](t)
}

// checkRules holds that a patch of a T without values asks for the rules for fields that T has.
func checkRules[T any](t *testing.T) {
	t.Helper()
	rules := 0
	c := checking{has: func(field string) bool {
		if _, ok := PatchOf[T]().layout.byName[field]; !ok {
			t.Errorf("%T has no field %q, for which there is a rule", *new(T), field)
		}
		rules++
		return false
	}}
	any(new(T)).(ruled).checkFields(&c)
	if rules == 0 || len(c.Problems) > 0 {
		t.Errorf("%T: %d rules, problems %q", *new(T), rules, c.Problems)
	}
}

// TestPatchOfUnknownField holds that a field that is not there is not taken for another.
func TestPatchOfUnknownField(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got a patch of a field that a device does not have")
		}
	}()
	PatchOf[Device]("tell", 7) // a number, as the first field is
}
