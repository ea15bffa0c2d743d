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
