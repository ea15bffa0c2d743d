package projections

import (
	"slices"
	"testing"

	"ledge/domain"
)

// Data events are found in the order of the log, whatever their origin, and so is the first event that still counts.
func TestRecordedFrom(t *testing.T) {
	usual := partOfCleanup
	t.Cleanup(func() { partOfCleanup = usual })
	partOfCleanup.names = 9
	f, h := MustOpen(t, Readings), newHistory(3)
	for range 400 {
		h.reading()
		if h.IntN(3) == 0 {
			h.removedReadings()
		}
	}
	f.feed(t, 50, h.events...)
	var want, got []uint64
	for key := range h.state.DataEvents.(domain.MapTable[domain.DataEvent]) {
		want = append(want, h.puts["data events "+key])
	}
	slices.Sort(want)
	v, release := f.View()
	defer release()
	for from := uint64(0); ; {
		list, err := v.RecordedFrom(from)
		must(t, err)
		if len(list) == 0 {
			break
		}
		if len(list) > 5 {
			t.Errorf("a part of %d", len(list))
		}
		for _, e := range list {
			if e.Seq != h.puts["data events "+e.ID] {
				t.Errorf("%s: sequence %d", e.ID, e.Seq)
			}
			got = append(got, e.Seq)
		}
		from = list[len(list)-1].Seq + 1
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOldest(t *testing.T) {
	f := MustOpen(t, Readings)
	oldest := func(want uint64) {
		t.Helper()
		v, release := f.View()
		defer release()
		if got, err := v.Oldest(); err != nil || got != want {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	oldest(1)
	posted := func(i int) domain.Event {
		return domain.ReadingPosted{Reading: domain.Reading{ID: uuid("r", i), Device: "d"}}
	}
	kind := domain.CleanupDeviceEvents("d")
	f.add(t, posted(1), domain.CleanupRequested{Cleanup: domain.Cleanup{Kind: kind}}, posted(3))
	oldest(1)
	f.add(t, domain.DataEventsRemoved{Events: []string{uuid("r", 1)}})
	oldest(2) // the cleanup
	f.add(t, domain.CleanupFinished{Kind: kind})
	oldest(3)
	f.add(t, domain.DataEventsRemoved{Events: []string{uuid("r", 3)}})
	oldest(7)
}
