package projections

import (
	"ledge/domain"
	"ledge/projections/fold"
)

// RecordedEvent is a data event, with the sequence of the event that put it.
type RecordedEvent struct {
	domain.DataEvent
	Seq uint64
}

// RecordedFrom lists, in the order of the log, data events that events from a sequence on have put: as many as one part of
// a cleanup may name. An empty list says that there are no more.
func (v *View) RecordedFrom(seq uint64) (list []RecordedEvent, err error) {
	err = v.Read(func() error {
		left := partOfCleanup
		for entry := range dataEvents.WrittenSince(v.View, seq) {
			if left.full() {
				break
			}
			e := dataEvents.Entity(v.View, entry)
			left.take(1+len(e.Readings), dataEvents.Size(v.View, entry))
			list = append(list, RecordedEvent{e, entry.Seq()})
		}
		return nil
	})
	return list, err
}

// Oldest returns the first sequence whose event has put anything that is still there and that is forgotten with its event,
// see [fold.DB.Forget]; if there is none, the checkpoint's + 1.
func (v *View) Oldest() (seq uint64, err error) {
	err = v.Read(func() error { seq = v.FirstWritten(); return nil })
	return seq, err
}

// SourceUse is what the events of core-data of one source take.
type SourceUse struct {
	Profile, Device, Source string
	// Count is the number of events, Bytes the size of their readings' values.
	Count int
	Bytes int64
	// Oldest is the lowest origin, in nanoseconds since the Unix epoch.
	Oldest int64
}

// Key is the value of [domain.IndexSource].
func (s SourceUse) Key() string { return domain.SourceKey(s.Profile, s.Device, s.Source) }

// Sources lists, in no order that means anything, at most so many sources that follow one with the key after; "" begins
// the list, and fewer than most end it. Each costs the look-up of a counter and of one event, however many it has.
func (v *View) Sources(after string, most int) (list []SourceUse, err error) {
	err = v.Read(func() error {
		values, err := dataEvents.Values(v.View, domain.IndexSource, after)
		if err != nil {
			return err
		}
		for value := range values {
			if len(list) >= most {
				break
			}
			list = append(list, sourceUse(v.View, value))
		}
		return nil
	})
	return list, err
}

func sourceUse(v *fold.View, value fold.Value) SourceUse {
	e := dataEvents.First(v, value)
	return SourceUse{Profile: e.Profile, Device: e.Device, Source: e.Source, Count: int(value.Count), Bytes: value.Weight, Oldest: e.Origin}
}
