package domain

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// UpdateProfile replaces the profile that the id or the name, or both, of Profile name; its id and its time of creation
// stay. At is the new modified time, in milliseconds since the Unix epoch, here and in the commands below.
type UpdateProfile struct {
	Profile Profile
	At      int64
}

// Decide refuses a profile that is wrong in itself or that does not exist; one that changes nothing makes no event.
func (c UpdateProfile) Decide(s State) (Event, error) {
	d := c.Profile.Normalize()
	if err := d.Check().Err(); err != nil {
		return nil, err
	}
	old, err := find(s, "profile", &d.ID, &d.Name, s.Profiles)
	if err != nil {
		return nil, err
	}
	d.ID, d.Created, d.Modified = old.ID, old.Created, old.Modified
	before, err := old.fromLog()
	if err != nil {
		return nil, err
	}
	after, err := d.fromLog()
	if err != nil {
		return nil, err
	}
	changes, err := Diff(before, after)
	if err != nil {
		return nil, err
	}
	return profileChanged(s, d, changes, c.At)
}

// UpdateProfileInfo patches what a profile says of itself; its resources and commands stay.
type UpdateProfileInfo struct {
	Patch Patch[Profile]
	At    int64
}

// Decide refuses a patch that is wrong or that names no profile; one that changes nothing makes no event.
func (c UpdateProfileInfo) Decide(s State) (Event, error) {
	old, d, err := patchEntity(s, "profile", c.Patch, s.Profiles)
	if err != nil {
		return nil, err
	}
	changes, err := Diff(old, d)
	if err != nil {
		return nil, err
	}
	return profileChanged(s, d, changes, c.At)
}

// AddDeviceResource adds a resource to the profile called Profile.
type AddDeviceResource struct {
	Profile  string
	Resource DeviceResource
	At       int64
}

// Decide refuses a resource that is wrong in itself or whose name is taken in the profile.
func (c AddDeviceResource) Decide(s State) (Event, error) {
	return changeProfile(s, c.Profile, "deviceResources", c.At, func(d *Profile) (Difference, error) {
		if _, ok := d.Resource(c.Resource.Name); ok {
			// EdgeX 2.3 answers 400 here.
			return Difference{}, Errorf(Invalid, "device resource %q exists already in profile %q; choose another name or change the one that is there", c.Resource.Name, c.Profile)
		}
		r := c.Resource.Normalize()
		if err := d.checkResource(r).Err(); err != nil {
			return Difference{}, err
		}
		d.DeviceResources = append(d.DeviceResources, r)
		return spliced(len(d.DeviceResources)-1, nil, []DeviceResource{r})
	})
}

// UpdateDeviceResource patches a resource of the profile called Profile.
type UpdateDeviceResource struct {
	Profile string
	Patch   ResourcePatch
	At      int64
}

// Decide refuses a patch that is wrong or that names no resource; one that changes nothing makes no event.
func (c UpdateDeviceResource) Decide(s State) (Event, error) {
	if err := c.Patch.Check().Err(); err != nil {
		return nil, err
	}
	return changeProfile(s, c.Profile, "deviceResources", c.At, func(d *Profile) (Difference, error) {
		i, err := d.resourceAt(*c.Patch.Name)
		if err != nil {
			return Difference{}, err
		}
		old := d.DeviceResources[i]
		d.DeviceResources[i] = c.Patch.Apply(old)
		return memberChanged(i, old, d.DeviceResources[i])
	})
}

// RemoveDeviceResource removes the resource called Name from the profile called Profile.
type RemoveDeviceResource struct {
	Profile, Name string
	At            int64
}

// Decide refuses a name that does not exist, a profile that is in use, and a resource that one of its commands names. EdgeX 2.3 answers
// the last one 400, not 409: it checks the profile without the resource.
func (c RemoveDeviceResource) Decide(s State) (Event, error) {
	return changeProfile(s, c.Profile, "deviceResources", c.At, func(d *Profile) (Difference, error) {
		i, err := d.resourceAt(c.Name)
		if err != nil {
			return Difference{}, err
		}
		if err := checkUnused(s, "profile", c.Profile); err != nil {
			return Difference{}, err
		}
		for _, cmd := range d.DeviceCommands {
			if slices.ContainsFunc(cmd.ResourceOperations, func(o ResourceOperation) bool { return o.DeviceResource == c.Name }) {
				return Difference{}, Errorf(Invalid, "device resource %q is in use by device command %q of profile %q; remove the command first", c.Name, cmd.Name, c.Profile)
			}
		}
		c, err := spliced(i, d.DeviceResources[i:i+1], nil)
		d.DeviceResources = slices.Delete(d.DeviceResources, i, i+1)
		return c, err
	})
}

// AddDeviceCommand adds a command to the profile called Profile.
type AddDeviceCommand struct {
	Profile string
	Command DeviceCommand
	At      int64
}

// Decide refuses a command that is wrong in itself, whose name is taken in the profile, or that names no resource of it.
func (c AddDeviceCommand) Decide(s State) (Event, error) {
	return changeProfile(s, c.Profile, "deviceCommands", c.At, func(d *Profile) (Difference, error) {
		if slices.ContainsFunc(d.DeviceCommands, func(o DeviceCommand) bool { return o.Name == c.Command.Name }) {
			// EdgeX 2.3 answers 400 here.
			return Difference{}, Errorf(Invalid, "device command %q exists already in profile %q; choose another name or change the one that is there", c.Command.Name, c.Profile)
		}
		if err := d.checkCommand(c.Command).Err(); err != nil {
			return Difference{}, err
		}
		d.DeviceCommands = append(d.DeviceCommands, c.Command)
		return spliced(len(d.DeviceCommands)-1, nil, []DeviceCommand{c.Command})
	})
}

// UpdateDeviceCommand patches a command of the profile called Profile.
type UpdateDeviceCommand struct {
	Profile string
	Patch   CommandPatch
	At      int64
}

// Decide refuses a patch that is wrong or that names no command; one that changes nothing makes no event.
func (c UpdateDeviceCommand) Decide(s State) (Event, error) {
	if err := c.Patch.Check().Err(); err != nil {
		return nil, err
	}
	return changeProfile(s, c.Profile, "deviceCommands", c.At, func(d *Profile) (Difference, error) {
		i, err := d.commandAt(*c.Patch.Name)
		if err != nil {
			return Difference{}, err
		}
		old := d.DeviceCommands[i]
		d.DeviceCommands[i] = c.Patch.Apply(old)
		return memberChanged(i, old, d.DeviceCommands[i])
	})
}

// RemoveDeviceCommand removes the command called Name from the profile called Profile.
type RemoveDeviceCommand struct {
	Profile, Name string
	At            int64
}

// Decide refuses a name that does not exist, and a profile that is in use.
func (c RemoveDeviceCommand) Decide(s State) (Event, error) {
	return changeProfile(s, c.Profile, "deviceCommands", c.At, func(d *Profile) (Difference, error) {
		i, err := d.commandAt(c.Name)
		if err != nil {
			return Difference{}, err
		}
		if err := checkUnused(s, "profile", c.Profile); err != nil {
			return Difference{}, err
		}
		c, err := spliced(i, d.DeviceCommands[i:i+1], nil)
		d.DeviceCommands = slices.Delete(d.DeviceCommands, i, i+1)
		return c, err
	})
}

// changeProfile decides a change of a part of the profile called name. edit may write to the lists of resources and
// commands, and returns what it changed in the list that member names; no change makes no event. It looks at the part alone:
// one request may change thousands of a profile of thousands.
func changeProfile(s State, name, member string, at int64, edit func(*Profile) (Difference, error)) (Event, error) {
	old, err := find(s, "profile", nil, &name, s.Profiles)
	if err != nil {
		return nil, err
	}
	d := old
	d.DeviceResources, d.DeviceCommands = slices.Clone(old.DeviceResources), slices.Clone(old.DeviceCommands)
	c, err := edit(&d)
	if err != nil || c.In == nil && c.At == nil {
		return nil, err
	}
	return profileChanged(s, d, Changes{member: c}, at)
}

// spliced is the change of a list in which elements from a place on became others.
func spliced[T any](place int, was, is []T) (c Difference, err error) {
	c.At = &place
	if c.Was, err = elements(reflect.ValueOf(was)); err == nil {
		c.Is, err = elements(reflect.ValueOf(is))
	}
	return c, err
}

// memberChanged is the change of a list in which one element became another.
func memberChanged[T any](place int, was, is T) (c Difference, err error) {
	in, err := Diff(was, is)
	if len(in) > 0 {
		c.In = Changes{strconv.Itoa(place): {In: in}}
	}
	return c, err
}

// checkResource notes what is wrong with one more resource.
func (d Profile) checkResource(r DeviceResource) Problems {
	var p Problems
	path := at("deviceResources", len(d.DeviceResources))
	if p.In(path, r.Check()); len(p) == 0 {
		p.checkAccess(path, r)
	}
	return p
}

// checkCommand notes what is wrong with one more command.
func (d Profile) checkCommand(c DeviceCommand) Problems {
	var p Problems
	path := at("deviceCommands", len(d.DeviceCommands))
	if p.In(path, c.Check()); len(p) == 0 {
		p.checkOperations(path, c, func(name string) *DeviceResource {
			if i, err := d.resourceAt(name); err == nil {
				return &d.DeviceResources[i]
			}
			return nil
		})
	}
	return p
}

// profileChanged is the event for a profile's becoming d, nil where nothing has changed.
func profileChanged(s State, d Profile, changes Changes, at int64) (Event, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	length, err := d.checkLength()
	if err != nil {
		return nil, err
	}
	return ProfilePatched{Update{Name: d.Name, Prev: Revision(s.Profiles, d.Name), Modified: at, Changes: changes, effort: length}}, nil
}

// fromLog returns d as it comes back from the log: attributes that YAML and JSON read as different types of number are
// the same then.
func (d Profile) fromLog() (back Profile, err error) {
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		return back, fmt.Errorf("profile %q: %w", d.Name, err)
	}
	return back, nil
}

func (d Profile) resourceAt(name string) (int, error) {
	i := slices.IndexFunc(d.DeviceResources, func(r DeviceResource) bool { return r.Name == name })
	if i < 0 {
		return 0, Errorf(NotFound, "device resource %q does not exist in profile %q; correct the name", name, d.Name)
	}
	return i, nil
}

func (d Profile) commandAt(name string) (int, error) {
	i := slices.IndexFunc(d.DeviceCommands, func(c DeviceCommand) bool { return c.Name == name })
	if i < 0 {
		return 0, Errorf(NotFound, "device command %q does not exist in profile %q; correct the name", name, d.Name)
	}
	return i, nil
}
