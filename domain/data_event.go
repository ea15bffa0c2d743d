package domain

import "encoding/json"

// DataEvent is what core-data calls an event: what one source of a device, a resource or a command, gave at one time.
type DataEvent struct {
	ID      string `json:"id"`
	Profile string `json:"profile"`
	Device  string `json:"device"`
	Source  string `json:"source"`
	// Origin is nanoseconds since the Unix epoch.
	Origin int64 `json:"origin"`
	// Tags is a JSON object, or empty.
	Tags json.RawMessage `json:"tags,omitempty"`
	// Readings are the ids of its readings, in their order.
	Readings []string `json:"readings,omitempty"`
	// Size is that of its readings' values together, in bytes.
	Size int64 `json:"size,omitempty"`
}

// EventPath returns the path at core-data of an event with its readings.
func EventPath(id string) string { return "/api/v2/event/id/" + id }

// SourceKey is the value of [IndexSource] for a source, in the form of its subject.
func SourceKey(profile, device, source string) string { return profile + "." + device + "." + source }

// DataEventAdded records an event that a device service has posted to core-data.
type DataEventAdded struct {
	Event    DataEvent      `json:"event"`
	Readings []ReadingValue `json:"readings"`
}

// ReadingValue is a reading with its value: in Text, or, for an Object, in Object, or, for a Binary without Digest, in Data.
type ReadingValue struct {
	Reading
	Object json.RawMessage `json:"object,omitempty"`
	Data   []byte          `json:"data,omitempty"`
}

// data returns the value as it is answered.
func (v ReadingValue) data() []byte {
	switch {
	case v.Object != nil:
		return v.Object
	case v.Data != nil:
		return v.Data
	}
	return []byte(v.Text)
}

// Evolve puts the event and its readings.
func (e DataEventAdded) Evolve(s State) {
	d := e.Event
	d.Readings, d.Size = make([]string, len(e.Readings)), 0
	for i, r := range e.Readings {
		d.Readings[i], d.Size = r.ID, d.Size+r.Size
		text := r.Text
		if r.Object != nil {
			text = string(r.Object)
		}
		r.Event = d.ID
		s.Readings.Put(r.ID, r.row(text))
	}
	s.DataEvents.Put(d.ID, d)
}

// AddedID is the answer to who asked for it.
func (e DataEventAdded) AddedID() string { return e.Event.ID }

// Subject implements Event.
func (e DataEventAdded) Subject() Subject {
	return Subject{e.Event.Profile, e.Event.Device, e.Event.Source}
}

// ValueIn returns the value of a reading that an event has recorded: the text of EdgeX, JSON of an Object, the bytes of a
// Binary. It is not ok where the event does not have it.
func ValueIn(e Event, reading string) (value []byte, ok bool) {
	switch e := e.(type) {
	case ReadingPosted:
		return e.Data(), e.ID == reading && e.Digest == ""
	case DataEventAdded:
		for _, r := range e.Readings {
			if r.ID == reading {
				return r.data(), r.Digest == ""
			}
		}
	}
	return nil, false
}

// DataEventsRemoved records events that are gone, with their readings.
type DataEventsRemoved struct {
	// Cleanup is the kind of the cleanup that has removed them, Rule the retention rule; both are empty where a request
	// named them.
	Cleanup string   `json:"cleanup,omitempty"`
	Rule    string   `json:"rule,omitempty"`
	Events  []string `json:"events"`
}

// Removed returns how many data events are gone.
func (e DataEventsRemoved) Removed() int { return len(e.Events) }

// Evolve removes them. What retention of the log has taken already is not missed.
func (e DataEventsRemoved) Evolve(s State) {
	for _, id := range e.Events {
		d, _ := s.DataEvents.Get(id)
		for _, reading := range d.Readings {
			s.Readings.Delete(reading)
		}
		s.DataEvents.Delete(id)
	}
}

// Subject implements Event: it says why they went, or names the first.
func (e DataEventsRemoved) Subject() Subject {
	return removedSubject(e.Cleanup, e.Rule, "event", e.Events)
}
