package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"ledge/domain"
	"ledge/store"
	"ledge/store/natsblock"
)

// stored is what a salvage leaves as it is.
type stored struct {
	at            int64
	subject, data string
}

// storedIn returns what is stored in the readings of a folder, by sequence.
func storedIn(t *testing.T, dir string) map[uint64]stored {
	t.Helper()
	files := natsblock.FilesOf(filepath.Join(dir, "jetstream/LEDGE/streams/LEDGE_READINGS"))
	list, err := files.List()
	must(t, err)
	all := map[uint64]stored{}
	for _, n := range list {
		for r, err := range (&natsblock.Scan{Files: files, Block: n, Prefix: "ledge.", Chunk: natsblock.MaxBlock}).Records() {
			if err == nil && r.IsMessage() {
				subject, _, data := r.Parts()
				all[r.Seq()] = stored{r.Nanos(), string(subject), string(data)}
			}
		}
	}
	return all
}

// TestSalvageKeepsTimes salvages a log of several blocks with one damaged event, whose first events retention has removed. All others keep
// their sequences and the times at which they were stored, which history is searched by and retention goes by.
func TestSalvageKeepsTimes(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "nats")
	s, a := manyBlocks(t, options(from), 1000)
	must(t, s.Readings().ExpireBefore(t.Context(), 100))
	_, _ = a.Close(), s.Close()
	before := storedIn(t, from)
	flip(t, filepath.Join(from, "jetstream/LEDGE/streams/LEDGE_READINGS/msgs/2.blk"), 0.5)
	all := mustInspect(t, from, store.InspectOptions{})
	lost := all[2].Faults[0].Seq
	o := store.SalvageOptions{NewID: func() string { return "lost" }, Now: time.Now()}
	list, err := store.Salvage(t.Context(), from, to, all, o)
	must(t, err)
	if r := list[2]; r.First != 100 || r.Total != 1 || r.Lost[0].From != lost || r.Copied || !list[0].Copied {
		t.Fatalf("%+v", list)
	}
	after := storedIn(t, to)
	for seq, want := range before {
		if seq == lost || seq < 100 {
			continue
		}
		if got := after[seq]; got != want {
			t.Fatalf("%d is %+v, want %+v", seq, got, want)
		}
	}
	if len(after) != int(all[2].Last)-99 || after[lost].at != before[lost-1].at {
		t.Errorf("%d events; the lost one is %+v", len(after), after[lost])
	}
	s = mustOpen(t, options(to))
	t.Cleanup(func() { _ = s.Close() })
	e, _, err := s.Readings().EventAt(t.Context(), lost)
	must(t, err)
	last, _ := s.Readings().Last()
	if _, ok := e.(domain.SequenceLost); !ok || s.Readings().First() != 100 || last != all[2].Last {
		t.Errorf("%+v, %d to %d", e, s.Readings().First(), last)
	}
}
