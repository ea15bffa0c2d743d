package fold

import (
	"fmt"
	"os"
	"testing"
)

// One part is a transaction of few rows; with nothing to forget, the file is not written. What stays is what a fold makes of the later events.
func TestForgetInParts(t *testing.T) {
	f := mustOpen(t)
	f.options.Gaps = true
	f.reopen(t, Limits{})
	const first = forgetAtOnce/2 + 3 // each thing before it has a part
	var all events
	for n := range first + 6 {
		s := item(n)
		s.Parts = []string{fmt.Sprint("part-", n)}
		seq := uint64(2*n + 1)
		all = append(all, record(seq, piece{s.Parts[0], part{Of: s.Name, At: int64(n), Size: 1}}, put{s})...)
	}
	f.feed(t, 100, all...)
	before := uint64(2*first + 1)
	for i, want := range []struct {
		n    int
		more bool
	}{{forgetAtOnce, true}, {6, false}, {0, false}} {
		n, more, err := f.forget(before)
		if must(t, err); n != want.n || more != want.more {
			t.Errorf("part %d: %d, %t, want %+v", i, n, more, want)
		}
	}
	f.reopen(t, Limits{})
	written, err := os.Stat(f.options.Path)
	must(t, err)
	n, err := f.Forget(t.Context(), before)
	must(t, err)
	if after, err := os.Stat(f.options.Path); err != nil || n != 0 || after.ModTime() != written.ModTime() {
		t.Errorf("%d rows went, written: %t, %v", n, after.ModTime() != written.ModTime(), err)
	}
	f.events = all[before-1:]
	sameDump(t, f.mustDump(t), f.rebuilt(t, f.events))
}
