package domain

// WatcherAdded records a new provision watcher.
type WatcherAdded struct {
	Watcher ProvisionWatcher `json:"watcher"`
	// Prev is the sequence of the last removal of the name; 0 for none, and in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve adds the watcher and counts it at its profile and service.
func (e WatcherAdded) Evolve(s State) {
	s.Watchers.Put(e.Watcher.Name, e.Watcher)
	s.IDs.Put(idKey("watcher", e.Watcher.ID), e.Watcher.Name)
	countUses(s, e.Watcher.ProfileName, e.Watcher.ServiceName, +1)
}

// AddedID is the answer to who asked for it.
func (e WatcherAdded) AddedID() string { return e.Watcher.ID }

// Subject implements Event.
func (e WatcherAdded) Subject() Subject { return Subject{"watcher", e.Watcher.Name, "added"} }

// WatcherUpdated records what a provision watcher is after a change, and names the JSON fields that differ. Versions before
// [WatcherPatched] wrote it; now it is what [Whole] makes of that.
type WatcherUpdated struct {
	Watcher ProvisionWatcher `json:"watcher"`
	Changed []string         `json:"changed"`
}

// Evolve replaces the watcher.
func (e WatcherUpdated) Evolve(s State) {
	if moved(e.Changed) {
		if old, ok := s.Watchers.Get(e.Watcher.Name); ok {
			countUses(s, old.ProfileName, old.ServiceName, -1)
		}
		countUses(s, e.Watcher.ProfileName, e.Watcher.ServiceName, +1)
	}
	s.Watchers.Put(e.Watcher.Name, e.Watcher)
}

// Subject implements Event.
func (e WatcherUpdated) Subject() Subject { return Subject{"watcher", e.Watcher.Name, "updated"} }

// WatcherRemoved records that a provision watcher is gone; Watcher is what it last was.
type WatcherRemoved struct {
	Watcher ProvisionWatcher `json:"watcher"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve removes the watcher.
func (e WatcherRemoved) Evolve(s State) {
	s.Watchers.Delete(e.Watcher.Name)
	s.IDs.Delete(idKey("watcher", e.Watcher.ID))
	countUses(s, e.Watcher.ProfileName, e.Watcher.ServiceName, -1)
}

// Subject implements Event.
func (e WatcherRemoved) Subject() Subject { return Subject{"watcher", e.Watcher.Name, "removed"} }
