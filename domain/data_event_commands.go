package domain

import (
	"encoding/json"
	"slices"
)

// AddDataEvent adds an event that was posted.
type AddDataEvent struct{ Added DataEventAdded }

// Decide refuses an event that is wrong in itself, or whose id, or one of whose readings' ids, is taken.
func (c AddDataEvent) Decide(s State) (Event, error) {
	e := c.Added
	if err := e.Check().Err(); err != nil {
		return nil, err
	}
	if _, taken := s.DataEvents.Get(e.Event.ID); taken {
		return nil, Errorf(Conflict, "event id %s exists already; give each event an id of its own", e.Event.ID)
	}
	seen := map[string]bool{}
	for _, r := range e.Readings {
		if _, taken := s.Readings.Get(r.ID); taken || seen[r.ID] {
			return nil, Errorf(Conflict, "reading id %s exists already; leave the id out to get a new one", r.ID)
		}
		seen[r.ID] = true
	}
	return e.canonical()
}

// canonical returns e with its JSON as it comes back from the log, so that the state is the same live and after a rebuild.
func (e DataEventAdded) canonical() (_ Event, err error) {
	if e.Event.Tags, err = compact("tags", e.Event.Tags); err != nil {
		return nil, err
	}
	e.Readings = slices.Clone(e.Readings)
	for i := range e.Readings {
		r := &e.Readings[i]
		if r.Object, err = compact(at("readings", i)+".objectValue", r.Object); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func compact(path string, text json.RawMessage) (json.RawMessage, error) {
	if text == nil {
		return nil, nil
	}
	b, err := json.Marshal(text)
	if err != nil {
		return nil, FieldErrorf(path, "is no JSON: %v", err)
	}
	return b, nil
}

// RemoveDataEvent removes an event with its readings.
type RemoveDataEvent struct{ ID string }

// Decide refuses an id that does not exist.
func (c RemoveDataEvent) Decide(s State) (Event, error) {
	if _, ok := s.DataEvents.Get(c.ID); !ok {
		return nil, Errorf(NotFound, "event id %q does not exist", c.ID)
	}
	return DataEventsRemoved{Events: []string{c.ID}}, nil
}

// removeDataEvents names in e what is still as it was read.
func removeDataEvents(s State, e DataEventsRemoved, list []Removal) (Event, error) {
	for _, r := range list {
		if r.Revision == Revision(s.DataEvents, r.ID) {
			e.Events = append(e.Events, r.ID)
		}
	}
	if len(e.Events) == 0 {
		return nil, nil
	}
	return e, nil
}
