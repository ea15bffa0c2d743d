package fold

import (
	"slices"
	"testing"
)

// What is asked for again and again is tested once.
func TestFiltersTwice(t *testing.T) {
	f := mustOpen(t)
	f.feed(t, 10, items(10)...)
	v, release := f.View()
	defer release()
	must(t, v.flushed())
	s, err := things.search(v.rows, slices.Repeat([]Filter{is("label", "thing"), is("label", "site-1")}, 1000))
	must(t, err)
	if len(s.tests) != 1 {
		t.Errorf("%d other indexes are tested, want 1", len(s.tests))
	}
}

// TestPastHasEachOnce lists the past in a view that is older than the former entities: one of these is in the view too.
func TestPastHasEachOnce(t *testing.T) {
	f := mustOpen(t)
	f.feed(t, 10, items(3)...)
	v, release := f.View()
	defer release()
	former := func(n int, filters []Filter) Former {
		return Former{item(n).Name, uint64(n) + 1, item(n).Modified, func() (any, error) {
			if filters == nil {
				t.Errorf("item %d is read for a list without filters", n)
			}
			return item(n), nil
		}}
	}
	for _, n := range []int{0, 1, 2} {
		for _, filters := range [][]Filter{nil, {is("label", "thing")}} {
			past := &Past{Seq: 3, Former: slices.Values([]Former{former(n, filters)})}
			keys, total, err := things.Keys(v, past, Page{Limit: 10}, filters)
			must(t, err)
			if want := []string{item(2).Name, item(1).Name, item(0).Name}; total != 3 || !slices.Equal(keys, want) {
				t.Errorf("item %d was changed since: got %v of %d, want %v", n, keys, total, want)
			}
		}
	}
}
