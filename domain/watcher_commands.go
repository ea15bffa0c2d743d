package domain

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
	return WatcherAdded{c.Watcher, lastRemoval(s, "watcher", c.Watcher.Name)}, nil
}

// UpdateWatcher patches a provision watcher. At is the new modified time, in milliseconds since the Unix epoch.
type UpdateWatcher struct {
	Patch Patch[ProvisionWatcher]
	At    int64
}

// Decide refuses a patch that is wrong, or that names no watcher or a missing service or profile; one that changes
// nothing makes no event.
func (c UpdateWatcher) Decide(s State) (Event, error) {
	old, d, err := patchEntity(s, "watcher", c.Patch, s.Watchers)
	if err != nil {
		return nil, err
	}
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
	return WatcherRemoved{d, Revision(s.Watchers, d.Name)}, nil
}
