package domain

// SequenceLost stands on a log that was salvaged from a damaged one, in the place of an event that was not whole any more. It
// keeps the sequences of all others as they were: revisions, cursors and links to events rest on them.
type SequenceLost struct {
	Reason string `json:"reason"`
}

// Evolve changes no entity: nobody knows what the event was. The samples are not written again, as this log had them.
func (SequenceLost) Evolve(s State) {
	if s.Seeds != nil { // it is the log of changes
		s.Seeds.Put(seedSamples, true)
	}
}

// Subject implements Event.
func (SequenceLost) Subject() Subject { return Subject{"salvage", "sequence", "lost"} }
