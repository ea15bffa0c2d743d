package domain

import (
	"strings"
	"testing"
)

func replaceImage(edit func(*Profile)) UpdateProfile {
	return UpdateProfile{with(imageProfile(), edit), later}
}

func pan() DeviceResource {
	return DeviceResource{Name: "pan", Properties: ResourceProperties{ValueType: "Int16", ReadWrite: "RW"}}
}

func turn() DeviceCommand {
	return DeviceCommand{Name: "turn", ReadWrite: "R", ResourceOperations: []ResourceOperation{{DeviceResource: "zoom"}}}
}

// imageUpdated is the event that makes the image profile what edit makes of it.
func imageUpdated(edit func(*Profile), changed ...string) ProfileUpdated {
	return ProfileUpdated{with(imageProfile(), func(p *Profile) { edit(p); p.Modified = later }), changed}
}

func TestUpdateProfile(t *testing.T) {
	relabel := func(p *Profile) { p.Labels = []string{"indoor"} }
	runDecisions(t, []decision{
		{name: "by name", given: catalogue(), when: replaceImage(func(p *Profile) { relabel(p); p.ID = "" }), want: imageUpdated(relabel, "labels")},
		{name: "its times are the old ones", given: catalogue(), when: replaceImage(func(p *Profile) { relabel(p); p.Created = 1 }),
			want: imageUpdated(relabel, "labels")},
		{name: "what is left out goes", given: catalogue(), when: replaceImage(func(p *Profile) { p.DeviceCommands = nil }),
			want: imageUpdated(func(p *Profile) { p.DeviceCommands = nil }, "deviceCommands")},
		{name: "in use", given: onboarded(), when: replaceImage(relabel), want: imageUpdated(relabel, "labels")},
		{name: "value types in any case are not a change", given: catalogue(), when: replaceImage(func(p *Profile) {
			p.DeviceResources[0].Properties.ValueType = "binary"
		})},
		{name: "other types of number are not a change",
			given: []Event{ProfileAdded{Profile: with(imageProfile(), func(p *Profile) { p.DeviceResources[0].Attributes = map[string]any{"a": 1.0} })}},
			when:  replaceImage(func(p *Profile) { p.DeviceResources[0].Attributes = map[string]any{"a": 1} })},
		{name: "wrong in itself", given: catalogue(), when: replaceImage(func(p *Profile) { p.DeviceResources = nil }),
			code: Invalid, says: `device resource "zoom" does not exist in this profile`},
		{name: "unknown name", given: catalogue(), when: replaceImage(func(p *Profile) { p.Name, p.ID = "video", "" }),
			code: NotFound, says: `profile "video" does not exist`},
		{name: "unknown id", given: catalogue(), when: replaceImage(func(p *Profile) { p.ID = otherID }),
			code: NotFound, says: `profile id "` + otherID + `" does not exist`},
		{name: "id of another", given: catalogue(), when: replaceImage(func(p *Profile) { p.Name = "video" }),
			code: Invalid, says: `belongs to "image", not to "video"`},
		{name: "too long", given: catalogue(), when: replaceImage(func(p *Profile) { p.Description = strings.Repeat("x", maxProfile) }),
			code: TooLarge, says: "over the limit of 8388608"},
	})
}

func TestUpdateProfileInfo(t *testing.T) {
	patch := func(p Patch[Profile]) UpdateProfileInfo { return UpdateProfileInfo{p, later} }
	runDecisions(t, []decision{
		{name: "every field", given: catalogue(),
			when: patch(PatchOf[Profile]("id", profileID, "manufacturer", "mf", "description", "d", "model", "md", "labels", []string{"a"})),
			want: imageUpdated(func(p *Profile) {
				p.Manufacturer, p.Description, p.Model, p.Labels = "mf", "d", "md", []string{"a"}
			}, "description", "labels", "manufacturer", "model")},
		{name: "nothing", given: catalogue(), when: patch(PatchOf[Profile]("name", "image", "labels", []string{}, "model", ""))},
		{name: "neither name nor id", given: catalogue(), when: patch(PatchOf[Profile]("model", "x")),
			code: Invalid, says: "name: is missing, and so is id"},
		{name: "bad id", given: catalogue(), when: patch(PatchOf[Profile]("id", "x")), code: Invalid, says: `id: "x" is no UUID`},
		{name: "unknown", given: catalogue(), when: patch(PatchOf[Profile]("name", "none")), code: NotFound, says: `profile "none" does not exist`},
	})
}

func TestChangeDeviceResources(t *testing.T) {
	free := ProfileAdded{Profile: with(imageProfile(), func(p *Profile) { p.DeviceCommands = nil })}
	patch := func(name string) UpdateDeviceResource {
		return UpdateDeviceResource{"image", ResourcePatch{&name, new("far"), new(true)}, later}
	}
	runDecisions(t, []decision{
		{name: "added", given: onboarded(), when: AddDeviceResource{"image", pan(), later},
			want: imageUpdated(func(p *Profile) { p.DeviceResources = append(p.DeviceResources, pan()) }, "deviceResources")},
		{name: "added with its value type in lower case", given: catalogue(),
			when: AddDeviceResource{"image", with(pan(), func(r *DeviceResource) { r.Properties.ValueType = "int16" }), later},
			want: imageUpdated(func(p *Profile) { p.DeviceResources = append(p.DeviceResources, pan()) }, "deviceResources")},
		{name: "added twice", given: catalogue(), when: AddDeviceResource{"image", imageProfile().DeviceResources[0], later},
			code: Invalid, says: `device resource "jpeg" exists already in profile "image"`},
		{name: "added, wrong in itself", given: catalogue(), when: AddDeviceResource{"image", DeviceResource{Name: "pan"}, later},
			code: Invalid, says: "deviceResources[2].properties.valueType: is missing or empty"},
		{name: "added to no profile", when: AddDeviceResource{"image", pan(), later}, code: NotFound, says: `profile "image" does not exist`},
		{name: "patched", given: onboarded(), when: patch("zoom"), want: imageUpdated(func(p *Profile) {
			p.DeviceResources[1].Description, p.DeviceResources[1].IsHidden = "far", true
		}, "deviceResources")},
		{name: "patched with what it is", given: catalogue(), when: UpdateDeviceResource{"image", ResourcePatch{Name: new("zoom"), IsHidden: new(false)}, later}},
		{name: "patched, unknown", given: catalogue(), when: patch("pan"), code: NotFound, says: `device resource "pan" does not exist in profile "image"`},
		{name: "patched, no name", given: catalogue(), when: UpdateDeviceResource{Profile: "image"}, code: Invalid, says: "name: is missing or empty"},
		{name: "removed", given: []Event{free}, when: RemoveDeviceResource{"image", "zoom", later},
			want: imageUpdated(func(p *Profile) { p.DeviceResources, p.DeviceCommands = p.DeviceResources[:1], nil }, "deviceResources")},
		{name: "removed, used by a command", given: catalogue(), when: RemoveDeviceResource{"image", "zoom", later},
			code: Invalid, says: `device resource "zoom" is in use by device command "adjust"`},
		{name: "removed, in use by a device", given: onboarded(), when: RemoveDeviceResource{"image", "jpeg", later},
			code: Conflict, says: `profile "image" is in use`},
		{name: "removed, unknown", given: onboarded(), when: RemoveDeviceResource{"image", "pan", later},
			code: NotFound, says: `device resource "pan" does not exist`},
		{name: "removed from no profile", when: RemoveDeviceResource{"image", "pan", later}, code: NotFound, says: `profile "image" does not exist`},
	})
}

func TestChangeDeviceCommands(t *testing.T) {
	patch := func(name string) UpdateDeviceCommand {
		return UpdateDeviceCommand{"image", CommandPatch{&name, new(true)}, later}
	}
	runDecisions(t, []decision{
		{name: "added", given: onboarded(), when: AddDeviceCommand{"image", turn(), later},
			want: imageUpdated(func(p *Profile) { p.DeviceCommands = append(p.DeviceCommands, turn()) }, "deviceCommands")},
		{name: "added twice", given: catalogue(), when: AddDeviceCommand{"image", imageProfile().DeviceCommands[0], later},
			code: Invalid, says: `device command "adjust" exists already in profile "image"`},
		{name: "added for no resource", given: catalogue(),
			when: AddDeviceCommand{"image", with(turn(), func(c *DeviceCommand) { c.ResourceOperations[0].DeviceResource = "pan" }), later},
			code: Invalid, says: `device resource "pan" does not exist in this profile`},
		{name: "added to no profile", when: AddDeviceCommand{"image", turn(), later}, code: NotFound, says: `profile "image" does not exist`},
		{name: "patched", given: onboarded(), when: patch("adjust"),
			want: imageUpdated(func(p *Profile) { p.DeviceCommands[0].IsHidden = true }, "deviceCommands")},
		{name: "patched with nothing", given: catalogue(), when: UpdateDeviceCommand{"image", CommandPatch{Name: new("adjust")}, later}},
		{name: "patched, unknown", given: catalogue(), when: patch("turn"), code: NotFound, says: `device command "turn" does not exist in profile "image"`},
		{name: "removed", given: catalogue(), when: RemoveDeviceCommand{"image", "adjust", later},
			want: imageUpdated(func(p *Profile) { p.DeviceCommands = []DeviceCommand{} }, "deviceCommands")},
		{name: "removed, in use by a device", given: onboarded(), when: RemoveDeviceCommand{"image", "adjust", later},
			code: Conflict, says: `profile "image" is in use`},
		{name: "removed, unknown", given: catalogue(), when: RemoveDeviceCommand{"image", "turn", later},
			code: NotFound, says: `device command "turn" does not exist`},
	})
}

// A change must not reach the profile that is in the table.
func TestChangesLeaveTheOldProfile(t *testing.T) {
	s := given(catalogue()...)
	for _, cmd := range []Command{
		UpdateDeviceResource{"image", ResourcePatch{Name: new("jpeg"), IsHidden: new(true)}, later}, RemoveDeviceCommand{"image", "adjust", later},
	} {
		if _, err := cmd.Decide(s); err != nil {
			t.Error(err)
		}
	}
	if d, _ := s.Profiles.Get("image"); d.DeviceResources[0].IsHidden || len(d.DeviceCommands) != 1 || d.DeviceCommands[0].Name != "adjust" {
		t.Errorf("got %#v, want the profile as it was", d)
	}
}
