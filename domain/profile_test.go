package domain

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func addImage(edit func(*Profile)) AddProfile { return AddProfile{with(imageProfile(), edit)} }

func TestAddProfile(t *testing.T) {
	bare := Profile{ID: otherID, Name: "bare"}
	runDecisions(t, []decision{
		{name: "added", when: AddProfile{imageProfile()}, want: ProfileAdded{Profile: imageProfile()}},
		{name: "without resources", given: catalogue(), when: AddProfile{bare}, want: ProfileAdded{Profile: bare}},
		{name: "value types in any case", when: addImage(func(p *Profile) {
			p.DeviceResources[0].Properties.ValueType, p.DeviceResources[1].Properties.ValueType = "binary", "uINT8"
		}), want: ProfileAdded{Profile: imageProfile()}},
		{name: "WR for RW", when: addImage(func(p *Profile) { p.DeviceCommands[0].ReadWrite = "WR" }),
			want: ProfileAdded{Profile: with(imageProfile(), func(p *Profile) { p.DeviceCommands[0].ReadWrite = "WR" })}},
		{name: "name taken", given: catalogue(), when: addImage(func(p *Profile) { p.ID = otherID }),
			code: Conflict, says: `profile name "image" exists already; choose another name`},
		{name: "id taken", given: catalogue(), when: addImage(func(p *Profile) { p.Name = "video" }),
			code: Conflict, says: `profile id "` + profileID + `" exists already, for "image"; leave the id out`},
		{name: "id of another kind of entity", given: catalogue(),
			when: AddProfile{Profile{ID: serviceID, Name: "bare"}}, want: ProfileAdded{Profile: Profile{ID: serviceID, Name: "bare"}}},
	})
}

func TestAddProfileRefusesFields(t *testing.T) {
	again := func(p *Profile, r DeviceResource) { p.DeviceResources = append(p.DeviceResources, r) }
	tests := []struct {
		name string
		edit func(*Profile)
		says string
	}{
		{"bad id", func(p *Profile) { p.ID = "17" }, `id: "17" is no UUID`},
		{"no valueType", func(p *Profile) { p.DeviceResources[0].Properties.ValueType = "" },
			"deviceResources[0].properties.valueType: is missing or empty; use one of Bool, String"},
		{"unknown valueType", func(p *Profile) { p.DeviceResources[1].Properties.ValueType = "Int128" },
			`deviceResources[1].properties.valueType: "Int128" is unknown; use one of Bool, String`},
		{"unknown readWrite", func(p *Profile) { p.DeviceResources[0].Properties.ReadWrite = "r" },
			`deviceResources[0].properties.readWrite: "r" is unknown; use one of R, W, RW, WR`},
		{"Binary written", func(p *Profile) { p.DeviceResources[0].Properties.ReadWrite = "RW" },
			`deviceResources[0].properties.readWrite: "RW" is not possible for the value type Binary of resource "jpeg"; use R`},
		{"binary in lower case written", func(p *Profile) {
			p.DeviceResources[0].Properties = ResourceProperties{ValueType: "binary", ReadWrite: "W"}
		}, `"W" is not possible for the value type Binary of resource "jpeg"; use R`},
		{"long units", func(p *Profile) { p.DeviceResources[1].Properties.Units = strings.Repeat("u", MaxName+1) },
			`… is 257 bytes long; use at most 256`},
		{"long mediaType", func(p *Profile) { p.DeviceResources[0].Properties.MediaType = "image/" + strings.Repeat("j", MaxName) },
			`… is 262 bytes long; use at most 256`},
		{"resource twice", func(p *Profile) { again(p, p.DeviceResources[1]) },
			`deviceResources[2].name: device resource "zoom" is there twice; rename one of them`},
		{"command twice", func(p *Profile) { p.DeviceCommands = append(p.DeviceCommands, p.DeviceCommands[0]) },
			`deviceCommands[1].name: device command "adjust" is there twice; rename one of them`},
		{"command without readWrite", func(p *Profile) { p.DeviceCommands[0].ReadWrite = "" },
			"deviceCommands[0].readWrite: is missing or empty; use one of R, W, RW, WR"},
		{"command without operations", func(p *Profile) { p.DeviceCommands[0].ResourceOperations = nil },
			"deviceCommands[0].resourceOperations: is missing or empty; name at least one device resource"},
		{"operation without resource", func(p *Profile) { p.DeviceCommands[0].ResourceOperations[0].DeviceResource = "" },
			"deviceCommands[0].resourceOperations[0].deviceResource: is missing or empty"},
		{"operation on an unknown resource", func(p *Profile) { p.DeviceCommands[0].ResourceOperations[0].DeviceResource = "pan" },
			`resourceOperations[0].deviceResource: device resource "pan" does not exist in this profile; add it or correct the name`},
		{"command writes what is read", func(p *Profile) { p.DeviceResources[1].Properties.ReadWrite = "R" },
			`device command "adjust" has readWrite "W", but resource "zoom" only "R"; make them agree`},
		{"command reads what is written", func(p *Profile) {
			p.DeviceResources[1].Properties.ReadWrite, p.DeviceCommands[0].ReadWrite = "W", "RW"
		}, `device command "adjust" has readWrite "RW", but resource "zoom" only "W"; make them agree`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := addImage(tt.edit).Decide(given())
			wantRefusal(t, got, err, Invalid, tt.says)
		})
	}
}

func TestNormalizeLeavesItsInput(t *testing.T) {
	p := with(imageProfile(), func(p *Profile) { p.DeviceResources[0].Properties.ValueType = "BINARY" })
	if got := p.Normalize(); !reflect.DeepEqual(got, imageProfile()) {
		t.Errorf("got %#v, want the profile with Binary", got)
	}
	if got := p.DeviceResources[0].Properties.ValueType; got != "BINARY" {
		t.Errorf("the profile that was passed has the value type %q now, want BINARY", got)
	}
	for _, want := range ValueTypes {
		p.DeviceResources[0].Properties.ValueType = strings.ToLower(want)
		if got := p.Normalize().DeviceResources[0].Properties.ValueType; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRemoveProfile(t *testing.T) {
	video := with(imageProfile(), func(p *Profile) { p.Name, p.ID = "video", otherID })
	moved := with(camera(), func(d *Device) { d.ProfileName = "video" })
	second := with(camera(), func(d *Device) { d.Name, d.ID = "cam-2", otherID })
	runDecisions(t, []decision{
		{name: "removed", given: catalogue(), when: RemoveProfile{"image"}, want: ProfileRemoved{Profile: imageProfile()}},
		{name: "no such profile", given: catalogue(), when: RemoveProfile{"imgae"},
			code: NotFound, says: `profile "imgae" does not exist`},
		{name: "in use", given: append(onboarded(), DeviceAdded{Device: second}), when: RemoveProfile{"image"},
			code: Conflict, says: `profile "image" is in use (devices and provision watchers: 2); remove them or give them another profile first`},
		{name: "in use by one of two still", given: append(onboarded(), DeviceAdded{Device: second}, DeviceRemoved{Device: camera()}),
			when: RemoveProfile{"image"}, code: Conflict, says: `profile "image" is in use (devices and provision watchers: 1)`},
		{name: "its device removed", given: append(onboarded(), DeviceRemoved{Device: camera()}),
			when: RemoveProfile{"image"}, want: ProfileRemoved{Profile: imageProfile()}},
		{name: "its device moved away",
			given: append(onboarded(), ProfileAdded{Profile: video}, DeviceUpdated{moved, []string{"profileName"}}),
			when:  RemoveProfile{"image"}, want: ProfileRemoved{Profile: imageProfile()}},
		{name: "a device moved in", given: append(onboarded(), ProfileAdded{Profile: video}, DeviceUpdated{moved, []string{"profileName"}}),
			when: RemoveProfile{"video"}, code: Conflict, says: `profile "video" is in use (devices and provision watchers: 1)`},
	})
}

// What is answered must not depend on whether the profile was read from the log again.
func TestEmptyListsOfProfileOnTheLog(t *testing.T) {
	p := with(imageProfile(), func(p *Profile) {
		p.Labels = []string{}
		p.DeviceResources[0].Attributes = map[string]any{}
		p.DeviceCommands = []DeviceCommand{{Name: "c", ReadWrite: "R", ResourceOperations: []ResourceOperation{{DeviceResource: p.DeviceResources[0].Name, Mappings: map[string]string{}}}}}
	})
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got Profile
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("got  %#v, %v\nwant %#v", got, err, p)
	}
}
