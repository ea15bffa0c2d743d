package domain

import (
	"reflect"
	"slices"
	"testing"
)

func addFinder(edit func(*ProvisionWatcher)) AddWatcher { return AddWatcher{with(finder(), edit)} }

func patchFinder(edit ...any) UpdateWatcher {
	return UpdateWatcher{Patch: PatchOf[ProvisionWatcher](append(fields{"name", "finder"}, edit...)...), At: later}
}

func watched() []Event { return append(catalogue(), WatcherAdded{Watcher: finder()}) }

func TestAddWatcher(t *testing.T) {
	runDecisions(t, []decision{
		{name: "added", given: catalogue(), when: AddWatcher{finder()}, want: WatcherAdded{Watcher: finder()}},
		{name: "added again after removal", given: append(watched(), WatcherRemoved{Watcher: finder()}), when: AddWatcher{finder()}, want: WatcherAdded{Watcher: finder()}},
		{name: "name taken", given: watched(), when: addFinder(func(d *ProvisionWatcher) { d.ID = otherID }),
			code: Conflict, says: `watcher name "finder" exists already; choose another name`},
		{name: "id taken", given: watched(), when: addFinder(func(d *ProvisionWatcher) { d.Name = "finder-2" }),
			code: Conflict, says: `watcher id "` + watcherID + `" exists already, for "finder"; leave the id out`},
		{name: "no such service", given: catalogue(), when: addFinder(func(d *ProvisionWatcher) { d.ServiceName = "device-x" }),
			code: NotFound, says: `watcher "finder": device service "device-x" does not exist; add it first or correct serviceName`},
		{name: "no such profile", given: catalogue(), when: addFinder(func(d *ProvisionWatcher) { d.ProfileName = "imgae" }),
			code: NotFound, says: `watcher "finder": device profile "imgae" does not exist; upload it first or correct profileName`},
	})
}

func TestAddWatcherRefusesFields(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*ProvisionWatcher)
		says string
	}{
		{"bad id", func(d *ProvisionWatcher) { d.ID = "17" }, `id: "17" is no UUID`},
		{"bad name", func(d *ProvisionWatcher) { d.Name = "a b" }, `name: "a b" has the character ' '`},
		{"no identifiers", func(d *ProvisionWatcher) { d.Identifiers = nil }, "identifiers: is missing or empty; give at least one"},
		{"empty identifiers", func(d *ProvisionWatcher) { d.Identifiers = map[string]string{} }, "identifiers: is missing or empty"},
		{"identifier without value", func(d *ProvisionWatcher) { d.Identifiers = map[string]string{"a": "x", "b": ""} },
			"identifiers[b]: is missing or empty; give a value"},
		{"identifier without key", func(d *ProvisionWatcher) { d.Identifiers = map[string]string{"": "x"} }, "identifiers: has an empty key"},
		{"no serviceName", func(d *ProvisionWatcher) { d.ServiceName = "" }, "serviceName: is missing or empty; give a name"},
		{"no profileName", func(d *ProvisionWatcher) { d.ProfileName = "" }, "profileName: is missing or empty; give a name"},
		{"unknown adminState", func(d *ProvisionWatcher) { d.AdminState = "X" }, `adminState: "X" is unknown; use one of LOCKED, UNLOCKED`},
		{"bad autoEvent", func(d *ProvisionWatcher) { d.AutoEvents = []AutoEvent{{Interval: "10"}} },
			`autoEvents[0].interval: "10" is not a duration`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := addFinder(tt.edit).Decide(given(catalogue()...))
			wantRefusal(t, got, err, Invalid, tt.says)
		})
	}
}

func TestUpdateWatcher(t *testing.T) {
	locked := with(finder(), func(d *ProvisionWatcher) { d.AdminState, d.Modified = StateLocked, later })
	runDecisions(t, []decision{
		{name: "by name", given: watched(), when: patchFinder("adminState", StateLocked),
			want: WatcherUpdated{locked, []string{"adminState"}}},
		{name: "by id", given: watched(), when: UpdateWatcher{PatchOf[ProvisionWatcher]("id", watcherID, "adminState", StateLocked), later},
			want: WatcherUpdated{locked, []string{"adminState"}}},
		{name: "values as they are", given: watched(), when: patchFinder("labels", []string{"onvif"}, "identifiers", finder().Identifiers,
			"blockingIdentifiers", finder().BlockingIdentifiers, "autoEvents", []AutoEvent{}, "profileName", "image")},
		{name: "neither id nor name", given: watched(), when: UpdateWatcher{PatchOf[ProvisionWatcher]("adminState", StateLocked), later},
			code: Invalid, says: "name: is missing, and so is id; give one of them"},
		{name: "no such name", given: watched(), when: UpdateWatcher{PatchOf[ProvisionWatcher]("name", "none"), later},
			code: NotFound, says: `watcher "none" does not exist`},
		{name: "no such id", given: watched(), when: UpdateWatcher{PatchOf[ProvisionWatcher]("id", otherID), later},
			code: NotFound, says: `watcher id "` + otherID + `" does not exist`},
		{name: "no such profile", given: watched(), when: patchFinder("profileName", "imgae"),
			code: NotFound, says: `device profile "imgae" does not exist`},
		{name: "no such service", given: watched(), when: patchFinder("serviceName", "device-x"),
			code: NotFound, says: `device service "device-x" does not exist`},
		{name: "empty profileName", given: watched(), when: patchFinder("profileName", ""),
			code: Invalid, says: "profileName: is missing or empty"},
		{name: "empty identifiers", given: watched(), when: patchFinder("identifiers", map[string]string{}),
			code: Invalid, says: "identifiers: is empty; give at least one, or leave it out"},
		{name: "identifier without value", given: watched(), when: patchFinder("identifiers", map[string]string{"a": ""}),
			code: Invalid, says: "identifiers[a]: is missing or empty"},
		{name: "unknown adminState", given: watched(), when: patchFinder("adminState", "X"),
			code: Invalid, says: `adminState: "X" is unknown`},
	})
}

func TestUpdateWatcherNamesWhatChanged(t *testing.T) {
	state := given(append(watched(),
		ProfileAdded{Profile: with(imageProfile(), func(p *Profile) { p.Name, p.ID = "video", otherID })},
		ServiceAdded{Service: with(restService(), func(d *DeviceService) { d.Name, d.ID = "device-onvif", otherID })})...)
	for _, tt := range []struct {
		edit fields
		want []string
	}{
		{fields{"labels", []string{}}, []string{"labels"}},
		{fields{"identifiers", map[string]string{"a": "b"}}, []string{"identifiers"}},
		{fields{"blockingIdentifiers", map[string][]string{}}, []string{"blockingIdentifiers"}},
		{fields{"serviceName", "device-onvif"}, []string{"serviceName"}},
		{fields{"profileName", "video"}, []string{"profileName"}},
		{fields{"autoEvents", []AutoEvent{{"1s", true, "zoom"}}}, []string{"autoEvents"}},
		{fields{"adminState", StateLocked, "profileName", "video"}, []string{"adminState", "profileName"}},
	} {
		cmd := patchFinder(tt.edit...)
		got, ok := Whole(state, mustDecide(t, state, cmd)).(WatcherUpdated)
		if !ok || !slices.Equal(got.Changed, tt.want) {
			t.Errorf("got %#v, want Changed %v", got, tt.want)
			continue
		}
		want := cmd.Patch.Apply(finder())
		want.Modified = later
		if !reflect.DeepEqual(got.Watcher, want) {
			t.Errorf("got  %#v\nwant %#v", got.Watcher, want)
		}
	}
}

func TestRemoveWatcher(t *testing.T) {
	runDecisions(t, []decision{
		{name: "removed", given: watched(), when: RemoveWatcher{"finder"}, want: WatcherRemoved{Watcher: finder()}},
		{name: "no such watcher", given: watched(), when: RemoveWatcher{"none"}, code: NotFound, says: `watcher "none" does not exist`},
		{name: "its profile is in use until then", given: watched(), when: RemoveProfile{"image"},
			code: Conflict, says: `profile "image" is in use (devices and provision watchers: 1)`},
		{name: "and free after", given: append(watched(), WatcherRemoved{Watcher: finder()}), when: RemoveProfile{"image"}, want: ProfileRemoved{Profile: imageProfile()}},
	})
}
