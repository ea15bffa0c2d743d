package store

import (
	"fmt"
	"testing"
)

// TestBefore holds what is known of the subjects used last, and that nothing false is said of those that are forgotten.
func TestBefore(t *testing.T) {
	v := newLive(&Log{}, true)
	for seq := range uint64(2 * generation) {
		if before, known := v.before(fmt.Sprint(seq), seq); before != 0 || !known {
			t.Fatalf("a new subject: %d, %t", before, known)
		}
	}
	for _, c := range []struct {
		subject string
		before  uint64
		known   bool
	}{{"1", 1, true}, {"2", 0, false}, {fmt.Sprint(generation), generation, true}, {"1", 100, true}, {"new", 0, false}} {
		if before, known := v.before(c.subject, 100); before != c.before || known != c.known {
			t.Errorf("%s: %d, %t, want %d, %t", c.subject, before, known, c.before, c.known)
		}
	}
}
