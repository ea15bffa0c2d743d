package domain

import (
	"fmt"
	"maps"
	"slices"
)

// Check notes what is wrong with a provision watcher on its own; whether its profile and service exist is Decide's
// question.
func (d ProvisionWatcher) Check() Problems {
	var p Problems
	p.checkID("id", d.ID)
	p.checkName("name", d.Name)
	if len(d.Identifiers) == 0 {
		p.Add("identifiers", `is missing or empty; give at least one, such as {"address":"10\\.0\\.0\\.[0-9]+"}`)
	}
	p.checkIdentifiers(d.Identifiers)
	p.checkName("serviceName", d.ServiceName)
	p.checkName("profileName", d.ProfileName)
	p.checkOneOf("adminState", d.AdminState, StateLocked, StateUnlocked)
	p.checkAutoEvents(d.AutoEvents)
	return p
}

// checkIdentifiers wants a key and a value, as EdgeX 2.3 does: it leaves it to device services whether a value is a
// regular expression.
func (p *Problems) checkIdentifiers(identifiers map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(identifiers)) {
		if key == "" {
			p.Add("identifiers", "has an empty key; give the name of a property")
		}
		p.checkText(fmt.Sprintf("identifiers[%.80s]", key), identifiers[key])
	}
}

// AddWatcher adds a provision watcher. Watcher carries its id and times.
type AddWatcher struct{ Watcher ProvisionWatcher }

// Decide refuses a watcher that is wrong in itself, whose name or id is taken, or whose service or profile is missing.
func (c AddWatcher) Decide(s State) (Event, error) {
	if err := c.Watcher.Check().Err(); err != nil {
		return nil, err
	}
	if err := checkFree(s, "watcher", c.Watcher.Name, c.Watcher.ID, has(s.Watchers)); err != nil {
		return nil, err
	}
	if err := checkReferences(s, "watcher", c.Watcher.Name, c.Watcher.ServiceName, c.Watcher.ProfileName); err != nil {
		return nil, err
	}
	return WatcherAdded(c), nil
}

// WatcherPatch changes the fields that are not nil of the provision watcher that ID or Name, or both, name.
type WatcherPatch struct {
	ID                  *string             `json:"id"`
	Name                *string             `json:"name"`
	Labels              []string            `json:"labels"`
	Identifiers         map[string]string   `json:"identifiers"`
	BlockingIdentifiers map[string][]string `json:"blockingIdentifiers"`
	ServiceName         *string             `json:"serviceName"`
	ProfileName         *string             `json:"profileName"`
	AdminState          *string             `json:"adminState"`
	AutoEvents          []AutoEvent         `json:"autoEvents"`
}

// Apply returns d with the patch's fields.
func (c WatcherPatch) Apply(d ProvisionWatcher) ProvisionWatcher {
	set(&d.ServiceName, c.ServiceName)
	set(&d.ProfileName, c.ProfileName)
	set(&d.AdminState, c.AdminState)
	if c.Labels != nil {
		d.Labels = c.Labels
	}
	if c.Identifiers != nil {
		d.Identifiers = c.Identifiers
	}
	if c.BlockingIdentifiers != nil {
		d.BlockingIdentifiers = c.BlockingIdentifiers
	}
	if c.AutoEvents != nil {
		d.AutoEvents = c.AutoEvents
	}
	return d
}

// Check notes what is wrong with the patch before the watcher is known.
func (c WatcherPatch) Check() Problems {
	var p Problems
	p.checkTarget(c.ID, c.Name)
	if c.Identifiers != nil && len(c.Identifiers) == 0 {
		p.Add("identifiers", "is empty; give at least one, or leave it out to keep what is there")
	}
	p.checkIdentifiers(c.Identifiers)
	optional(&p, "serviceName", c.ServiceName, (*Problems).checkName)
	optional(&p, "profileName", c.ProfileName, (*Problems).checkName)
	optional(&p, "adminState", c.AdminState, func(p *Problems, path, v string) {
		p.checkOneOf(path, v, StateLocked, StateUnlocked)
	})
	p.checkAutoEvents(c.AutoEvents)
	return p
}

// UpdateWatcher patches a provision watcher. At is the new modified time, in milliseconds since the Unix epoch.
type UpdateWatcher struct {
	Patch WatcherPatch
	At    int64
}

// Decide refuses a patch that is wrong, or that names no watcher or a missing service or profile; one that changes
// nothing makes no event.
func (c UpdateWatcher) Decide(s State) (Event, error) {
	if err := c.Patch.Check().Err(); err != nil {
		return nil, err
	}
	old, err := find(s, "watcher", c.Patch.ID, c.Patch.Name, s.Watchers)
	if err != nil {
		return nil, err
	}
	d := c.Patch.Apply(old)
	if err := checkReferences(s, "watcher", d.Name, d.ServiceName, d.ProfileName); err != nil {
		return nil, err
	}
	u, ok, err := updateOf(s.Watchers, d.Name, old, d, c.At)
	if !ok || err != nil {
		return nil, err
	}
	return WatcherPatched{u}, nil
}

// RemoveWatcher removes the provision watcher called Name.
type RemoveWatcher struct{ Name string }

// Decide refuses a name that does not exist.
func (c RemoveWatcher) Decide(s State) (Event, error) {
	d, ok := s.Watchers.Get(c.Name)
	if !ok {
		return nil, Errorf(NotFound, "watcher %q does not exist; correct the name", c.Name)
	}
	return WatcherRemoved{Watcher: d}, nil
}
