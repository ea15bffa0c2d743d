package domain

// ProfileAdded records a new device profile.
type ProfileAdded struct {
	Profile Profile `json:"profile"`
	// Prev is the sequence of the last removal of the name; 0 for none, and in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve adds the profile.
func (e ProfileAdded) Evolve(s State) {
	s.Profiles.Put(e.Profile.Name, e.Profile)
	s.IDs.Put(idKey("profile", e.Profile.ID), e.Profile.Name)
}

// AddedID is the answer to who asked for it.
func (e ProfileAdded) AddedID() string { return e.Profile.ID }

// Subject implements Event.
func (e ProfileAdded) Subject() Subject { return Subject{"profile", e.Profile.Name, "added"} }

// ProfileUpdated records what a device profile is after a change, and names the JSON fields that differ. Versions before
// [ProfilePatched] wrote it; now it is what [Whole] makes of that.
type ProfileUpdated struct {
	Profile Profile  `json:"profile"`
	Changed []string `json:"changed"`
}

// Evolve replaces the profile.
func (e ProfileUpdated) Evolve(s State) { s.Profiles.Put(e.Profile.Name, e.Profile) }

// Subject implements Event.
func (e ProfileUpdated) Subject() Subject { return Subject{"profile", e.Profile.Name, "updated"} }

// ProfileRemoved records that a device profile is gone; Profile is what it last was.
type ProfileRemoved struct {
	Profile Profile `json:"profile"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve removes the profile.
func (e ProfileRemoved) Evolve(s State) {
	s.Profiles.Delete(e.Profile.Name)
	s.IDs.Delete(idKey("profile", e.Profile.ID))
}

// Subject implements Event.
func (e ProfileRemoved) Subject() Subject { return Subject{"profile", e.Profile.Name, "removed"} }
