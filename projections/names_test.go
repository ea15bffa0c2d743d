package projections

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"ledge/domain"
)

// Rows have ids of any form and length, also where the key has only a part.
func TestRowsKeepIDs(t *testing.T) {
	f := MustOpen(t, Readings)
	want := []string{uuid("r", 1), "plain", strings.ToUpper(uuid("r", 2)), strings.Repeat("l", 1023), strings.Repeat("l", 1023+1)}
	for i, id := range want {
		f.add(t, domain.ReadingPosted{Reading: domain.Reading{ID: id, Event: "of " + id, Device: "d", Resource: "r", Origin: int64(i)}})
	}
	v, release := f.View()
	defer release()
	list, _, err := v.Readings(Page{Limit: -1})
	must(t, err)
	events, _, err := pageOf(v, dataEvents, Page{Limit: -1}, nil)
	must(t, err)
	slices.SortFunc(list, func(a, b domain.Reading) int { return cmp.Compare(a.Origin, b.Origin) })
	slices.SortFunc(events, func(a, b domain.DataEvent) int { return cmp.Compare(a.Origin, b.Origin) })
	for i, id := range want {
		if r, e := list[i], events[i]; r.ID != id || r.Event != "of "+id || e.ID != "of "+id || !slices.Equal(e.Readings, []string{id}) {
			t.Errorf("%.50q came back as %.50q, part of %.50q, which is %.50q with %.50q", id, r.ID, r.Event, e.ID, e.Readings)
		}
	}
}
