package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// readingsBytes is what the files of the readings take.
func readingsBytes(t *testing.T, s *store.Store) int64 {
	t.Helper()
	st, err := s.Readings().Stats()
	if err != nil {
		t.Fatal(err)
	}
	return st.Bytes
}

// blockFiles are the files of the readings' events, with their sizes.
func blockFiles(t *testing.T, o store.Options) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	paths, _ := filepath.Glob(filepath.Join(o.Dir, "jetstream", "LEDGE", "streams", "LEDGE_READINGS", "msgs", "*.blk"))
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		found[path] = st.Size()
	}
	if len(found) == 0 {
		t.Fatal("no block files")
	}
	return found
}

// TestDropBefore gives the disk back what the start of a log takes. The rest stays whole, goes on, and is opened again.
func TestDropBefore(t *testing.T) {
	for _, clean := range []bool{true, false} {
		o := options(t.TempDir())
		s, p, a := keepBytes(t, o, 300) // over several blocks
		before, files := readingsBytes(t, s), blockFiles(t, o)
		drop := func(seq, least uint64) (first uint64) {
			t.Helper()
			first, err := s.Readings().DropBefore(t.Context(), seq)
			if err != nil || first < least || first > seq || first != s.Readings().First() {
				t.Fatalf("drop before %d: the log begins at %d, %v", seq, first, err)
			}
			return first
		}
		if first := drop(10, 1); first != 1 {
			t.Errorf("a part of a block is gone: the log begins at %d", first)
		}
		first := drop(250, 150)
		for name, size := range blockFiles(t, o) {
			if size != files[name] {
				t.Errorf("%s was written anew: %d bytes, not %d", name, size, files[name])
			}
		}
		if after := readingsBytes(t, s); after > before*(300-int64(first)+1)/300+1<<20 {
			t.Errorf("%d of %d bytes are still there with %d to 300", after, before, first)
		}
		storetest.MustSubmit(t, a, storetest.Post("cam-1", make([]byte, 100<<10)))
		first = drop(1000, first) // and the last event stays
		storetest.MustSubmit(t, a, storetest.Post("cam-1", nil))
		check := func() {
			t.Helper()
			if r, err := s.Readings().Verify(t.Context(), nil); err != nil || r.First != first || r.Last != 302 {
				t.Errorf("%+v, %v, want %d to 302", r, err, first)
			}
		}
		check()
		_ = a.Close()
		s = openAgain(t, s, o, clean)
		check()
		a = storetest.MustAppender(t, s.Readings(), p)
		if got := storetest.MustSubmit(t, a, storetest.Post("cam-1", nil)); got[0].Seq != 303 {
			t.Errorf("clean %t: sequence %d", clean, got[0].Seq)
		}
		if err := s.Health(t.Context()); err != nil {
			t.Errorf("clean %t: %v", clean, err)
		}
	}
}

func TestDropBeforeRefuses(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	if _, err := s.Events().DropBefore(t.Context(), 1); err == nil || !strings.HasPrefix(err.Error(), "LEDGE_EVENTS is kept for ever") {
		t.Errorf("got %v", err)
	}
	if first, err := s.Readings().DropBefore(t.Context(), 5); first != 1 || err != nil {
		t.Errorf("of an empty log: %d, %v", first, err)
	}
}

// TestRemovalsOnAFullDisk holds that removals are recorded where readings are refused, down to a part of the reserve of
// changes; and that a log says that it is not ready, and is again.
func TestRemovalsOnAFullDisk(t *testing.T) {
	o := options(t.TempDir())
	o.ReserveBytes, o.ReadingsReserveBytes = 8<<20, 64<<20
	free := uint64(1 << 30)
	o.FreeBytes = func(string) (uint64, error) { return free, nil }
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Readings(), storetest.NewProjection())
	step := func(bytes uint64, reading, removal domain.Code, refused uint64) {
		t.Helper()
		free = bytes
		code := func(c domain.Request) domain.Code {
			got, err := a.Submit(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return domain.CodeOf(got[0].Err)
		}
		if got := code(storetest.Post("cam-1", []byte("x"))); got != reading {
			t.Errorf("%d bytes free: a reading is %v", bytes, got)
		}
		if got := code(storetest.Request(domain.RequestCleanup{Cleanup: domain.Cleanup{Kind: domain.CleanupEvents}})); got != removal {
			t.Errorf("%d bytes free: a removal is %v", bytes, got)
		}
		if got := domain.CodeOf(s.Readings().Ready()); got != reading {
			t.Errorf("%d bytes free: ready is %v", bytes, got)
		}
		if st, err := s.Readings().Stats(); err != nil || st.Refused != refused || st.Reserve != 64<<20 {
			t.Errorf("%d bytes free: %+v, %v, want %d refused", bytes, st, err, refused)
		}
		if err := s.Events().Ready(); (err == nil) != (bytes > 8<<20) {
			t.Errorf("%d bytes free: events: %v", bytes, err)
		}
	}
	var none domain.Code
	step(1<<30, none, none, 0)
	step(60<<20, domain.Full, none, 1)
	step(3<<20, domain.Full, none, 2)
	step(2<<20, domain.Full, domain.Full, 4)
	step(1<<30, none, none, 4)
}

// TestSinceOverBlocks finds the sequence of each time, in a log of several files.
func TestSinceOverBlocks(t *testing.T) {
	s, _, _ := keepBytes(t, options(t.TempDir()), 200)
	l := s.Readings()
	every := uint64(5)
	if os.Getenv("TEST_LEDGE_FAULTS") == "all" {
		every = 1
	}
	check := func() {
		t.Helper()
		var before time.Time
		for m, err := range l.ReadRaw(t.Context(), 0, 0) {
			if err != nil {
				t.Fatal(err)
			}
			fresh := !m.At.Equal(before)
			before = m.At
			if !fresh || m.Seq%every != 0 {
				continue
			}
			if got, err := l.Since(t.Context(), m.At); err != nil || got != m.Seq {
				t.Fatalf("since %v: %d, %v, want %d", m.At, got, err, m.Seq)
			}
			if got, err := l.OlderThan(t.Context(), m.At); err != nil || got != m.Seq {
				t.Fatalf("older than %v: %d, %v, want %d", m.At, got, err, m.Seq)
			}
			if got, err := l.Since(t.Context(), m.At.Add(1)); err != nil || got <= m.Seq || got > 201 {
				t.Fatalf("since a nanosecond later than %d: %d, %v", m.Seq, got, err)
			}
		}
	}
	check()
	if _, err := l.DropBefore(t.Context(), 150); err != nil {
		t.Fatal(err)
	}
	check()
}

// TestReadsPastFront holds that what leaves the log by its start is not damage to a command that reads the files of the running server.
func TestReadsPastFront(t *testing.T) {
	s, _, _ := keepBytes(t, options(t.TempDir()), 600) // more than is read ahead
	files, err := store.OpenRunning(t.Context(), s.Dir(), s.Ask)
	if err != nil {
		t.Fatal(err)
	}
	dropped, last := false, uint64(0)
	for r, err := range files.Logs()[2].Read(t.Context(), 0, 0) {
		if err != nil {
			t.Fatalf("after %d: %v", last, err)
		}
		if last = r.Seq; dropped {
			continue
		}
		dropped = true
		if first, err := s.Readings().DropBefore(t.Context(), 600); err != nil || first < 500 {
			t.Fatalf("the log begins at %d, %v", first, err)
		}
	}
	if last != 600 {
		t.Errorf("the last is %d, want 600", last)
	}
}

// TestDropBeforeAfterAFailure holds that blocks which a failed removal has left behind the start go with the next one.
func TestDropBeforeAfterAFailure(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	s, _, _ := keepBytes(t, o, 300)
	blocks, err := s.Readings().Blocks()
	if err != nil || len(blocks) < 3 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	front := blocks[1].First
	if err := s.Readings().RecordFront(front); err != nil {
		t.Fatal(err)
	}
	if first, err := s.Readings().DropBefore(t.Context(), front); first != front || err != nil {
		t.Errorf("the log begins at %d, %v, want %d", first, err, front)
	}
	if left, err := s.Readings().Blocks(); err != nil || left[0].First != front {
		t.Errorf("the first block begins at %d, %v, want %d", left[0].First, err, front)
	}
}

// TestCopyPassedByRetention holds that a log is not called damaged where retention removes, while it is copied, all that was to be
// copied.
func TestCopyPassedByRetention(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	s, _, a := keepBytes(t, o, 300)
	_, _ = a.Close(), s.Close()
	msgs := filepath.Join(o.Dir, "jetstream", "LEDGE", "streams", store.ReadingsStream, "msgs")
	end := store.End{Seq: 100} // in 2.blk
	write := func(path string, _ []byte) error {
		if strings.HasSuffix(path, "/1.blk") {
			return os.Remove(filepath.Join(msgs, "2.blk"))
		}
		return nil
	}
	_, err := store.CopyBlocks(context.Background(), o.Dir, store.ReadingsStream, end, write, func([]domain.Recorded) error { return nil })
	if err == nil || store.IsDamage(err) || !strings.Contains(err.Error(), "try again") {
		t.Errorf("got %v", err)
	}
	keep := func(string, []byte) error { return nil }
	got, err := store.CopyBlocks(context.Background(), o.Dir, store.ReadingsStream, store.End{}, keep, func([]domain.Recorded) error { return nil })
	if err != nil || got.Last != 0 || got.Count != 0 {
		t.Errorf("a copy that ends before the first event: %+v, %v", got, err)
	}
	front := store.FrontsText(store.ReadingsStream, 102, "")
	mustStart(t, o.Dir, front)
	if err := store.NotPassed(o.Dir, map[string]store.End{store.ReadingsStream: end}); err == nil || store.IsDamage(err) {
		t.Errorf("a front behind the end: %v", err)
	}
	if err := store.NotPassed(o.Dir, map[string]store.End{store.ReadingsStream: {Seq: 101}}); err != nil {
		t.Error(err)
	}
}
