package delivery

import (
	"slices"
	"testing"

	"ledge/bridge/lanes"
)

// TestLoadedInTheOrderOfTheLog holds that the items of one millisecond are in the order of the log, whatever the ids are, and that nothing
// is handed on behind the item that does not fit. A queue that was full had the later of two changes, and sent it first.
func TestLoadedInTheOrderOfTheLog(t *testing.T) {
	var got []uint64
	g := inLog{f: func(it lanes.Item) bool { got = append(got, it.Sequence); return it.Sequence != 6 }}
	for _, one := range []struct {
		created  int64
		sequence uint64
		more     bool
	}{{1, 3, true}, {1, 1, true}, {1, 2, true}, {2, 5, true}, {2, 4, true}, {3, 7, true}, {3, 6, true}, {3, 8, true}, {4, 9, false}} {
		if more := g.add(one.created, lanes.Item{Sequence: one.sequence}); more != one.more {
			t.Errorf("at %d: more is %t", one.sequence, more)
		}
	}
	if want := []uint64{1, 2, 3, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
