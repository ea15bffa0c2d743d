package domain

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

func patchCamera(edit func(*DevicePatch)) UpdateDevice {
	return UpdateDevice{Patch: with(DevicePatch{Name: new("cam-1")}, edit), At: later}
}

func TestUpdateDevice(t *testing.T) {
	locked := with(camera(), func(d *Device) { d.AdminState, d.Modified = StateLocked, later })
	lock := func(p *DevicePatch) { p.AdminState = new(StateLocked) }
	runDecisions(t, []decision{
		{name: "by name", given: onboarded(), when: patchCamera(lock), want: DeviceUpdated{locked, []string{"adminState"}}},
		{name: "by id", given: onboarded(), when: UpdateDevice{DevicePatch{ID: new(cameraID), AdminState: new(StateLocked)}, later},
			want: DeviceUpdated{locked, []string{"adminState"}}},
		{name: "by both", given: onboarded(), when: patchCamera(func(p *DevicePatch) { lock(p); p.ID = new(cameraID) }),
			want: DeviceUpdated{locked, []string{"adminState"}}},
		{name: "nothing but the name", given: onboarded(), when: patchCamera(func(*DevicePatch) {})},
		{name: "values as they are", given: onboarded(), when: patchCamera(func(p *DevicePatch) {
			p.AdminState, p.Labels, p.Protocols = new(StateUnlocked), []string{"indoor"}, camera().Protocols
			p.AutoEvents, p.Location = []AutoEvent{}, json.RawMessage("null")
		})},
		{name: "neither id nor name", given: onboarded(), when: UpdateDevice{DevicePatch{AdminState: new(StateLocked)}, later},
			code: Invalid, says: "name: is missing, and so is id; give one of them"},
		{name: "empty id beside the name", given: onboarded(), when: patchCamera(func(p *DevicePatch) { lock(p); p.ID = new("") }),
			want: DeviceUpdated{locked, []string{"adminState"}}},
		{name: "empty id", given: onboarded(), when: UpdateDevice{DevicePatch{ID: new("")}, later},
			code: Invalid, says: "id: is missing or empty; give a value"},
		{name: "id that is none", given: onboarded(), when: patchCamera(func(p *DevicePatch) { p.ID = new("17") }),
			code: Invalid, says: `id: "17" is no UUID; give the id that it has, or only the name`},
		{name: "no such id", given: onboarded(), when: UpdateDevice{DevicePatch{ID: new(otherID)}, later},
			code: NotFound, says: `device id "` + otherID + `" does not exist`},
		{name: "no such name", given: onboarded(), when: UpdateDevice{DevicePatch{Name: new("cam-2")}, later},
			code: NotFound, says: `device "cam-2" does not exist`},
		{name: "id of one, name of another", given: onboarded(), when: UpdateDevice{DevicePatch{ID: new(cameraID), Name: new("cam-2")}, later},
			code: Invalid, says: `device id "` + cameraID + `" belongs to "cam-1", not to "cam-2"; give only one of id and name`},
		{name: "no such profile", given: onboarded(), when: patchCamera(func(p *DevicePatch) { p.ProfileName = new("imgae") }),
			code: NotFound, says: `device profile "imgae" does not exist; upload it first or correct profileName`},
		{name: "no such service", given: onboarded(), when: patchCamera(func(p *DevicePatch) { p.ServiceName = new("device-x") }),
			code: NotFound, says: `device service "device-x" does not exist; add it first or correct serviceName`},
		{name: "protocolName taken from device-rest", given: onboarded(), when: patchCamera(func(p *DevicePatch) { p.ProtocolName = new("") }),
			code: Invalid, says: `protocolName: is missing; devices of "device-rest" need it`},
		{name: "unknown adminState", given: onboarded(), when: patchCamera(func(p *DevicePatch) { p.AdminState = new("OPEN") }),
			code: Invalid, says: `adminState: "OPEN" is unknown; use one of LOCKED, UNLOCKED`},
		{name: "unknown operatingState", given: onboarded(), when: patchCamera(func(p *DevicePatch) { p.OperatingState = new("OFF") }),
			code: Invalid, says: `operatingState: "OFF" is unknown; use one of UP, DOWN, UNKNOWN`},
		{name: "no protocols", given: onboarded(), when: patchCamera(func(p *DevicePatch) { p.Protocols = map[string]map[string]string{} }),
			code: Invalid, says: "protocols: is empty; give at least one protocol, or leave it out"},
		{name: "negative interval", given: onboarded(),
			when: patchCamera(func(p *DevicePatch) { p.AutoEvents = []AutoEvent{{Interval: "-1s", SourceName: "zoom"}} }),
			code: Invalid, says: `autoEvents[0].interval: "-1s" is no duration; write it as 300ms`},
	})
}

// The order of an object's members and the spelling of its text are no change.
func TestUpdateDeviceToTheSameLocation(t *testing.T) {
	state := given(append(catalogue(), DeviceAdded{with(camera(), func(d *Device) {
		d.Location = json.RawMessage(`{"at":[{"lat":1.50,"lng":2}],"room":"caf\u00e9"}`)
	})})...)
	for location, change := range map[string]bool{
		`{"at":[{"lat":1.50,"lng":2}],"room":"café"}`:          false,
		` { "room":"caf\u00e9", "at":[{"lng":2,"lat":1.50}] }`: false,
		`{"at":[{"lat":1.50,"lng":2}]}`:                        true,
		`{"at":[{"lat":1.51,"lng":2}],"room":"café"}`:          true,
		`"room"`: true,
	} {
		got, err := patchCamera(func(p *DevicePatch) { p.Location = json.RawMessage(location) }).Decide(state)
		if err != nil || (got != nil) != change {
			t.Errorf("%s: got %v, %v, want a change: %v", location, got, err, change)
		}
	}
}

func TestUpdateDeviceNamesWhatChanged(t *testing.T) {
	state := given(append(onboarded(),
		ProfileAdded{with(imageProfile(), func(p *Profile) { p.Name, p.ID = "video", otherID })},
		ServiceAdded{with(restService(), func(d *DeviceService) { d.Name, d.ID = "device-onvif", otherID })})...)
	tests := []struct {
		edit func(*DevicePatch)
		want []string
	}{
		{func(p *DevicePatch) { p.Description = new("north door") }, []string{"description"}},
		{func(p *DevicePatch) { p.OperatingState = new(StateDown) }, []string{"operatingState"}},
		{func(p *DevicePatch) { p.LastConnected = new(int64(5)) }, []string{"lastConnected"}},
		{func(p *DevicePatch) { p.LastReported = new(int64(6)) }, []string{"lastReported"}},
		{func(p *DevicePatch) { p.ServiceName = new("device-onvif") }, []string{"serviceName"}},
		{func(p *DevicePatch) { p.ProfileName = new("video") }, []string{"profileName"}},
		{func(p *DevicePatch) { p.ProtocolName = new("http") }, []string{"protocolName"}},
		{func(p *DevicePatch) { p.Labels = []string{} }, []string{"labels"}},
		{func(p *DevicePatch) { p.Location = json.RawMessage(`[1,2]`) }, []string{"location"}},
		{func(p *DevicePatch) { p.AutoEvents = []AutoEvent{{"1s", true, "zoom"}} }, []string{"autoEvents"}},
		{func(p *DevicePatch) { p.Protocols = map[string]map[string]string{"other": {"a": "b"}} }, []string{"protocols"}},
		{func(p *DevicePatch) { p.Notify = new(true) }, []string{"notify"}},
		{func(p *DevicePatch) { p.Notify, p.AdminState, p.Description = new(true), new(StateLocked), new("") }, []string{"adminState", "notify"}},
	}
	for _, tt := range tests {
		cmd := patchCamera(tt.edit)
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
