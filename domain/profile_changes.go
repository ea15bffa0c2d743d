package domain

import (
	"encoding/json"
	"fmt"
	"slices"
)

// maxProfile is how long a profile may become by changes, in bytes of its JSON: each change has the whole of it.
const maxProfile = 4 << 20

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
	return profileUpdated(old, d, c.At)
}

// UpdateProfileInfo patches what a profile says of itself; its resources and commands stay.
type UpdateProfileInfo struct {
	Patch ProfilePatch
	At    int64
}

// Decide refuses a patch that is wrong or that names no profile; one that changes nothing makes no event.
func (c UpdateProfileInfo) Decide(s State) (Event, error) {
	if err := c.Patch.Check().Err(); err != nil {
		return nil, err
	}
	old, err := find(s, "profile", c.Patch.ID, c.Patch.Name, s.Profiles)
	if err != nil {
		return nil, err
	}
	return profileUpdated(old, c.Patch.Apply(old), c.At)
}

// AddDeviceResource adds a resource to the profile called Profile.
type AddDeviceResource struct {
	Profile  string
	Resource DeviceResource
	At       int64
}

// Decide refuses a resource that is wrong in itself or whose name is taken in the profile.
func (c AddDeviceResource) Decide(s State) (Event, error) {
	return changeProfile(s, c.Profile, c.At, func(d *Profile) error {
		if _, ok := d.Resource(c.Resource.Name); ok {
			// EdgeX 2.3 answers 400 here.
			return Errorf(Invalid, "device resource %q exists already in profile %q; choose another name or change the one that is there", c.Resource.Name, c.Profile)
		}
		d.DeviceResources = append(d.DeviceResources, c.Resource)
		return nil
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
	return changeProfile(s, c.Profile, c.At, func(d *Profile) error {
		i, err := d.resourceAt(*c.Patch.Name)
		if err != nil {
			return err
		}
		d.DeviceResources[i] = c.Patch.Apply(d.DeviceResources[i])
		return nil
	})
}

// RemoveDeviceResource removes the resource called Name from the profile called Profile.
type RemoveDeviceResource struct {
	Profile, Name string
	At            int64
}

// Decide refuses a name that does not exist, a profile that is in use, and a resource that one of its commands names.
func (c RemoveDeviceResource) Decide(s State) (Event, error) {
	return changeProfile(s, c.Profile, c.At, func(d *Profile) error {
		i, err := d.resourceAt(c.Name)
		if err != nil {
			return err
		}
		if err := checkUnused(s, "profile", c.Profile); err != nil {
			return err
		}
		for _, cmd := range d.DeviceCommands {
			if slices.ContainsFunc(cmd.ResourceOperations, func(o ResourceOperation) bool { return o.DeviceResource == c.Name }) {
				return Errorf(Conflict, "device resource %q is in use by device command %q of profile %q; remove the command first", c.Name, cmd.Name, c.Profile)
			}
		}
		d.DeviceResources = slices.Delete(d.DeviceResources, i, i+1)
		return nil
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
	return changeProfile(s, c.Profile, c.At, func(d *Profile) error {
		if slices.ContainsFunc(d.DeviceCommands, func(o DeviceCommand) bool { return o.Name == c.Command.Name }) {
			// EdgeX 2.3 answers 400 here.
			return Errorf(Invalid, "device command %q exists already in profile %q; choose another name or change the one that is there", c.Command.Name, c.Profile)
		}
		d.DeviceCommands = append(d.DeviceCommands, c.Command)
		return nil
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
	return changeProfile(s, c.Profile, c.At, func(d *Profile) error {
		i, err := d.commandAt(*c.Patch.Name)
		if err != nil {
			return err
		}
		d.DeviceCommands[i] = c.Patch.Apply(d.DeviceCommands[i])
		return nil
	})
}

// RemoveDeviceCommand removes the command called Name from the profile called Profile.
type RemoveDeviceCommand struct {
	Profile, Name string
	At            int64
}

// Decide refuses a name that does not exist, and a profile that is in use.
func (c RemoveDeviceCommand) Decide(s State) (Event, error) {
	return changeProfile(s, c.Profile, c.At, func(d *Profile) error {
		i, err := d.commandAt(c.Name)
		if err != nil {
			return err
		}
		if err := checkUnused(s, "profile", c.Profile); err != nil {
			return err
		}
		d.DeviceCommands = slices.Delete(d.DeviceCommands, i, i+1)
		return nil
	})
}

// changeProfile decides a change of the profile called name. edit may write to the lists of resources and commands.
func changeProfile(s State, name string, at int64, edit func(*Profile) error) (Event, error) {
	old, err := find(s, "profile", nil, &name, s.Profiles)
	if err != nil {
		return nil, err
	}
	d := old
	d.DeviceResources, d.DeviceCommands = slices.Clone(old.DeviceResources), slices.Clone(old.DeviceCommands)
	if err := edit(&d); err != nil {
		return nil, err
	}
	d = d.Normalize()
	if err := d.Check().Err(); err != nil {
		return nil, err
	}
	return profileUpdated(old, d, at)
}

// profileUpdated is the event for old's becoming d, nil where they are the same on the log.
func profileUpdated(old, d Profile, at int64) (Event, error) {
	before, _, err := old.fromLog()
	if err != nil {
		return nil, err
	}
	after, size, err := d.fromLog()
	if err != nil {
		return nil, err
	}
	if size > maxProfile {
		return nil, Errorf(TooLarge, "profile %q would be %d bytes long, over the limit of %d; split it into several profiles", d.Name, size, maxProfile)
	}
	changed := Changed(before, after)
	if len(changed) == 0 {
		return nil, nil
	}
	d.Modified = at
	return ProfileUpdated{Profile: d, Changed: changed}, nil
}

// fromLog returns d as it comes back from the log, and its size there in bytes: attributes that YAML and JSON read as
// different types of number are the same then.
func (d Profile) fromLog() (back Profile, size int, err error) {
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		return back, 0, fmt.Errorf("profile %q: %w", d.Name, err)
	}
	return back, len(text), nil
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
