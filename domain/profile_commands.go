package domain

import (
	"encoding/json"
	"strings"
)

// ValueTypes are the value types of EdgeX 2.3, as written in profiles.
var ValueTypes = []string{
	"Bool", "String", "Uint8", "Uint16", "Uint32", "Uint64", "Int8", "Int16", "Int32", "Int64", "Float32", "Float64",
	"Binary", "BoolArray", "StringArray", "Uint8Array", "Uint16Array", "Uint32Array", "Uint64Array", "Int8Array",
	"Int16Array", "Int32Array", "Int64Array", "Float32Array", "Float64Array", "Object",
}

// Normalize returns the profile with its value types in their proper case: EdgeX 2.3 takes "int32" for "Int32".
func (d Profile) Normalize() Profile {
	rs := make([]DeviceResource, len(d.DeviceResources))
	for i, r := range d.DeviceResources {
		rs[i] = r.Normalize()
	}
	if d.DeviceResources != nil {
		d.DeviceResources = rs
	}
	return d
}

// Normalize returns the resource with its value type in its proper case.
func (r DeviceResource) Normalize() DeviceResource {
	r.Properties.ValueType = NormalValueType(r.Properties.ValueType)
	return r
}

// Check notes what is wrong with a profile's fields.
func (d Profile) Check() Problems {
	var p Problems
	p.checkID("id", d.ID)
	p.checkName("name", d.Name)
	checkIndexed(&p, "deviceResources", d.DeviceResources, func(p *Problems, path string, r DeviceResource) {
		p.In(path, r.Check())
	})
	checkIndexed(&p, "deviceCommands", d.DeviceCommands, func(p *Problems, path string, c DeviceCommand) {
		p.In(path, c.Check())
	})
	if len(p) == 0 { // the rules between fields hold for fields that are right
		p.checkResources(d)
		p.checkCommands(d)
	}
	return p
}

// Check notes what is wrong with a resource's fields; what its value type allows is for the profile's Check.
func (r DeviceResource) Check() Problems {
	var p Problems
	p.checkName("name", r.Name)
	p.checkOneOf("properties.valueType", r.Properties.ValueType, ValueTypes...)
	p.checkOneOf("properties.readWrite", r.Properties.ReadWrite, "R", "W", "RW", "WR")
	p.checkMediaType("properties.mediaType", r.Properties.MediaType)
	p.checkLength("properties.mediaType", r.Properties.MediaType) // both are kept with each value that is posted
	p.checkLength("properties.units", r.Properties.Units)
	if _, err := json.Marshal(r.Attributes); err != nil {
		p.Add("attributes", "cannot be written as JSON: %v; use text keys and plain values", err)
	}
	return p
}

// Check notes what is wrong with a command's fields; whether its resources exist is for the profile's Check.
func (c DeviceCommand) Check() Problems {
	var p Problems
	p.checkName("name", c.Name)
	p.checkOneOf("readWrite", c.ReadWrite, "R", "W", "RW", "WR")
	if len(c.ResourceOperations) == 0 {
		p.Add("resourceOperations", "is missing or empty; name at least one device resource")
	}
	checkIndexed(&p, "resourceOperations", c.ResourceOperations, func(p *Problems, path string, o ResourceOperation) {
		p.checkText(path+".deviceResource", o.DeviceResource)
	})
	return p
}

func (p *Problems) checkResources(d Profile) {
	seen := map[string]bool{}
	checkIndexed(p, "deviceResources", d.DeviceResources, func(p *Problems, path string, r DeviceResource) {
		if seen[r.Name] {
			p.Add(path+".name", "device resource %q is there twice; rename one of them", r.Name)
		}
		seen[r.Name] = true
		p.checkAccess(path, r)
	})
}

// checkAccess notes what the value type of a resource that is right in its fields does not allow.
func (p *Problems) checkAccess(path string, r DeviceResource) {
	if r.Properties.ValueType == "Binary" && strings.Contains(r.Properties.ReadWrite, "W") {
		p.Add(path+".properties.readWrite", "%q is not possible for the value type Binary of resource %q; use R", r.Properties.ReadWrite, r.Name)
	}
}

func (p *Problems) checkCommands(d Profile) {
	seen := map[string]bool{}
	resources := make(map[string]*DeviceResource, len(d.DeviceResources))
	for i := range d.DeviceResources {
		resources[d.DeviceResources[i].Name] = &d.DeviceResources[i]
	}
	find := func(name string) *DeviceResource { return resources[name] }
	checkIndexed(p, "deviceCommands", d.DeviceCommands, func(p *Problems, path string, c DeviceCommand) {
		if seen[c.Name] {
			p.Add(path+".name", "device command %q is there twice; rename one of them", c.Name)
		}
		seen[c.Name] = true
		p.checkOperations(path, c, find)
	})
}

// checkOperations notes what the resources of a profile do not allow a command that is right in its fields. find returns a resource by its
// name, or nil.
func (p *Problems) checkOperations(path string, c DeviceCommand, find func(name string) *DeviceResource) {
	checkIndexed(p, path+".resourceOperations", c.ResourceOperations, func(p *Problems, path string, o ResourceOperation) {
		r := find(o.DeviceResource)
		if r == nil {
			p.Add(path+".deviceResource", "device resource %q does not exist in this profile; add it or correct the name", o.DeviceResource)
			return
		}
		if missing := strings.Trim(c.ReadWrite, r.Properties.ReadWrite); missing != "" {
			p.Add(path+".deviceResource", "device command %q has readWrite %q, but resource %q only %q; make them agree", c.Name, c.ReadWrite, r.Name, r.Properties.ReadWrite)
		}
	})
}

// AddProfile adds a device profile. Profile carries its id and times.
type AddProfile struct{ Profile Profile }

// Decide refuses a profile that is wrong in itself or whose name or id is taken.
func (c AddProfile) Decide(s State) (Event, error) {
	c.Profile = c.Profile.Normalize()
	if err := c.Profile.Check().Err(); err != nil {
		return nil, err
	}
	if err := checkFree(s, "profile", c.Profile.Name, c.Profile.ID, has(s.Profiles)); err != nil {
		return nil, err
	}
	if _, err := c.Profile.checkLength(); err != nil {
		return nil, err
	}
	return ProfileAdded{c.Profile, lastRemoval(s, "profile", c.Profile.Name)}, nil
}

// RemoveProfile removes the device profile called Name.
type RemoveProfile struct{ Name string }

// Decide refuses a name that does not exist, and a profile that devices or provision watchers still use.
func (c RemoveProfile) Decide(s State) (Event, error) {
	d, ok := s.Profiles.Get(c.Name)
	if !ok {
		return nil, Errorf(NotFound, "profile %q does not exist; correct the name", c.Name)
	}
	if err := checkUnused(s, "profile", c.Name); err != nil {
		return nil, err
	}
	return ProfileRemoved{d, Revision(s.Profiles, d.Name)}, nil
}
