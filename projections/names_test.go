package projections

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"

	"ledge/domain"
)

func TestNames(t *testing.T) {
	a, b := "018bcfe5-6800-7abc-8def-0123456789ab", "018bcfe5-6800-7abc-8def-0123456789ac"
	names := []string{
		"", "a", a, b, uuid("x", 1), strings.ToUpper(a), strings.ReplaceAll(a, "-", "_"), a[:35] + "g", a + "0", a[1:],
		"0018bcfe56-800-7abc-8def-0123456789ab", strings.Repeat("x", 16), strings.Repeat("x", 17), "\x01" + strings.Repeat("x", 16), strings.Repeat("x", longestName),
	}
	seen := map[string]string{}
	for _, name := range names {
		key := appendName(nil, name)
		if got := nameIn(key); got != name {
			t.Errorf("%q came back as %q", name, got)
		}
		if same, taken := seen[string(key)]; taken {
			t.Errorf("%q and %q are both %x", name, same, key)
		}
		seen[string(key)] = name
		_, canonical := packed(name)
		if canonical != (name == a || name == b || name == uuid("x", 1)) || canonical && len(key) != packedLength {
			t.Errorf("%q: packed %t, in %d bytes", name, canonical, len(key))
		}
	}
	if bytes.Compare(appendName(nil, a), appendName(nil, b)) >= 0 {
		t.Error("packed names sort in another way")
	}
}

// Rows have ids of any form and length, also where the key has only a part.
func TestRowsKeepIDs(t *testing.T) {
	f := MustOpen(t, Readings)
	want := []string{uuid("r", 1), "plain", strings.ToUpper(uuid("r", 2)), strings.Repeat("l", longestName), strings.Repeat("l", longestName+1)}
	for i, id := range want {
		f.add(t, domain.ReadingPosted{Reading: domain.Reading{ID: id, Event: "of " + id, Device: "d", Resource: "r", Origin: int64(i)}})
	}
	v, release := f.View()
	defer release()
	list, _, err := v.Readings(Page{Limit: -1})
	must(t, err)
	events, _, err := v.DataEvents(Page{Limit: -1})
	must(t, err)
	slices.SortFunc(list, func(a, b domain.Reading) int { return cmp.Compare(a.Origin, b.Origin) })
	slices.SortFunc(events, func(a, b domain.DataEvent) int { return cmp.Compare(a.Origin, b.Origin) })
	for i, id := range want {
		if r, e := list[i], events[i]; r.ID != id || r.Event != "of "+id || e.ID != "of "+id || !slices.Equal(e.Readings, []string{id}) {
			t.Errorf("%.50q came back as %.50q, part of %.50q, which is %.50q with %.50q", id, r.ID, r.Event, e.ID, e.Readings)
		}
	}
}
