package domain

// SequenceLost stands on a log that was salvaged from a damaged one, in the place of an event that was not whole any more. It
// keeps the sequences of all others as they were: revisions, cursors and links to events rest on them.
type SequenceLost struct {
	Reason string `json:"reason"`
}

// Evolve changes nothing: nobody knows what the event was.
func (SequenceLost) Evolve(State) {}

// Subject implements Event.
func (SequenceLost) Subject() Subject { return Subject{"salvage", "sequence", "lost"} }
