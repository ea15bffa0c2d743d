package storetest

import (
	"fmt"
	"testing"
	"time"

	"ledge/store"
)

// The sequence of a time is that of the first event that was stored then or later.
func testSince(t *testing.T, s *store.Store) {
	l := s.Events()
	since := func(at time.Time, want uint64) {
		t.Helper()
		if got, err := l.Since(t.Context(), at); err != nil || got != want {
			t.Errorf("since %v: got %d, %v, want %d", at, got, err, want)
		}
	}
	since(time.Time{}, 1)
	a := MustAppender(t, l, NewProjection())
	const n = 40
	for i := range n {
		MustAdd(t, a, fmt.Sprint("a-", i), 1)
	}
	first := map[time.Time]uint64{}
	var last time.Time
	for m, err := range l.ReadRaw(t.Context(), 1, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, known := first[m.At]; !known {
			first[m.At] = m.Seq
		}
		last = m.At
	}
	for at, seq := range first {
		since(at, seq)
	}
	since(time.Unix(0, 0), 1)
	since(last.Add(1), n+1)
}
