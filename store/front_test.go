package store_test

import (
	"os"
	"path/filepath"
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

// TestDropBefore gives the disk back what the front of a log takes. The rest stays whole, goes on, and is opened again.
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
	if _, err := s.Events().DropBefore(t.Context(), 1); err == nil || err.Error() != "LEDGE_EVENTS is kept for ever" {
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
	check := func() {
		t.Helper()
		var before time.Time
		for m, err := range l.ReadRaw(t.Context(), 0, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if m.At.Equal(before) {
				continue
			}
			before = m.At
			if got, err := l.Since(t.Context(), m.At); err != nil || got != m.Seq {
				t.Fatalf("since %v: %d, %v, want %d", m.At, got, err, m.Seq)
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

// TestTapReadsPastFront holds that what leaves the log by its front is no damage to a tap that is reading it.
func TestTapReadsPastFront(t *testing.T) {
	o := options(t.TempDir())
	o.TapPort = 0
	s, _, _ := keepBytes(t, o, 600) // more than is read ahead
	tap, err := store.OpenTap(t.Context(), s.TapURL())
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	dropped, last := false, uint64(0)
	for r, err := range tap.Logs()[2].Read(t.Context(), 0, 0) {
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
