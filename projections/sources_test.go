package projections

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"ledge/domain"
)

// wantSources sums up the events by source.
func wantSources(h *history) map[string]SourceUse {
	want := map[string]SourceUse{}
	for _, e := range h.state.DataEvents.(domain.MapTable[domain.DataEvent]) {
		key := domain.SourceKey(e.Profile, e.Device, e.Source)
		u, there := want[key]
		if !there || e.Origin < u.Oldest {
			u.Oldest = e.Origin
		}
		u.Profile, u.Device, u.Source, u.Count, u.Bytes = e.Profile, e.Device, e.Source, u.Count+1, u.Bytes+e.Size
		want[key] = u
	}
	return want
}

// allSources asks for every page.
func allSources(t *testing.T, v *View, size int) map[string]SourceUse {
	t.Helper()
	got, after := map[string]SourceUse{}, ""
	for {
		list, err := v.Sources(after, size)
		must(t, err)
		for _, u := range list {
			if _, twice := got[u.Key()]; twice {
				t.Fatalf("%s is there twice", u.Key())
			}
			got[u.Key()] = u
			after = u.Key()
		}
		if len(list) < size {
			return got
		}
	}
}

// What a source takes is known at any time.
func TestSources(t *testing.T) {
	f, h := MustOpen(t, Readings), newHistory(5)
	for range 20 {
		from := len(h.events)
		for range 25 {
			h.reading()
			if h.IntN(3) == 0 {
				h.removedReadings()
			}
		}
		f.feed(t, 1+h.IntN(30), h.events[from:]...)
		v, release := f.View()
		want := wantSources(h)
		for size := range 4 {
			if got := allSources(t, v, 1+3*size); !maps.Equal(got, want) {
				t.Errorf("sources:\n got %v\nwant %v", got, want)
			}
		}
		release()
	}
}

// A source is found whose key is cut, and one of no weight.
func TestSourceWithLongNames(t *testing.T) {
	f := MustOpen(t, Readings)
	var names []string
	for i := range 3 {
		names = append(names, strings.Repeat("n", 300)+fmt.Sprint(i))
		f.add(t, domain.ReadingPosted{Reading: domain.Reading{ID: uuid("r", i), Profile: "p", Device: names[i], Resource: "r", Origin: int64(i)}})
	}
	v, release := f.View()
	defer release()
	sources := allSources(t, v, 1)
	if len(sources) != len(names) {
		t.Errorf("got %d sources", len(sources))
	}
	for _, u := range sources {
		if u.Device != names[u.Oldest] || u.Count != 1 || u.Bytes != 0 {
			t.Errorf("got %+v", u)
		}
	}
}
