package store_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// manyBlocks records readings of n sizes, over several block files.
func manyBlocks(tb testing.TB, o store.Options, n int) (*store.Store, *store.Appender) {
	tb.Helper()
	s := mustOpen(tb, o)
	a := storetest.MustAppender(tb, s.Readings(), storetest.NewProjection())
	postMany(tb, a, n)
	return s, a
}

// postMany records readings, of which every eighth is large.
func postMany(tb testing.TB, a *store.Appender, n int) {
	tb.Helper()
	for done := 0; done < n; done += 50 {
		var group []domain.Request
		for i := range min(50, n-done) {
			body := make([]byte, 4+(done+i)%3000)
			if i%8 == 0 {
				body = make([]byte, 100<<10)
			}
			binary.LittleEndian.PutUint32(body, rand.Uint32())
			group = append(group, storetest.Post("cam-1", body))
		}
		storetest.MustSubmit(tb, a, group...)
	}
}

// sameAsRead compares EventAt, in no order, with what a read of all finds.
func sameAsRead(t *testing.T, l *store.Log) {
	t.Helper()
	all := storetest.MustRead(t, l, 0, 0)
	for _, i := range rand.Perm(len(all)) {
		e, ok, err := l.EventAt(t.Context(), all[i].Seq)
		if want := all[i].Event.(domain.ReadingPosted); err != nil || !ok || e.(domain.ReadingPosted).ID != want.ID {
			t.Fatalf("at %d: %+.80v, %t, %v, want %s", all[i].Seq, e, ok, err, want.ID)
		}
	}
	last, _ := l.Last()
	for _, seq := range []uint64{0, last + 1, last + 100} {
		if e, ok, err := l.EventAt(t.Context(), seq); ok || err != nil {
			t.Errorf("at %d: %+v, %v", seq, e, err)
		}
	}
}

func TestEventAt(t *testing.T) {
	s, a := manyBlocks(t, options(t.TempDir()), 1200)
	sameAsRead(t, s.Readings())
	postMany(t, a, 900)
	sameAsRead(t, s.Readings())
}

// EventAt gives what retention has left, while block files go.
func TestEventAtWithRetention(t *testing.T) {
	o := options(t.TempDir())
	s, a := manyBlocks(t, o, 900)
	for range 5 {
		sameAsRead(t, s.Readings())
		postMany(t, a, 300)
		last, _ := s.Readings().Last()
		if first, err := s.Readings().DropBefore(t.Context(), last); err != nil || first < 3 {
			t.Fatalf("retention has taken nothing: the first is %d, %v", first, err)
		}
	}
	sameAsRead(t, s.Readings())
	for _, seq := range []uint64{1, 2, 50} {
		if e, ok, err := s.Readings().EventAt(t.Context(), seq); ok || err != nil {
			t.Errorf("at %d: %+.80v, %v", seq, e, err)
		}
	}
}

// An event that is altered on the disk is not given out.
func TestEventAtFindsDamage(t *testing.T) {
	dir, _ := mustFill(t)
	s := mustOpen(t, options(dir))
	if _, ok, err := s.Events().EventAt(t.Context(), 20); !ok || err != nil {
		t.Fatalf("found %t, %v", ok, err)
	}
	flip(t, block(dir, 1), 0.5)
	damaged := 0
	for seq := uint64(1); seq <= damagedEvents; seq++ {
		_, ok, err := s.Events().EventAt(t.Context(), seq)
		if store.IsDamage(err) {
			damaged++
		}
		if ok == (err != nil) {
			t.Errorf("at %d: found %t, %v", seq, ok, err)
		}
	}
	if damaged != 2 { // and the one after it, for whose chain it is read
		t.Errorf("%d events are refused, want 2", damaged)
	}
}

// BenchmarkEventAt reads events of 2 KiB and more, all over a log of many block files.
func BenchmarkEventAt(b *testing.B) {
	s, _ := manyBlocks(b, options(b.TempDir()), 20_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := s.Readings().EventAt(b.Context(), 1+rand.Uint64N(20_000)); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// TestEventAtWrongOffsets reads single events of a log whose remembered offsets are wrong.
func TestEventAtWrongOffsets(t *testing.T) {
	s, _ := manyBlocks(t, options(t.TempDir()), 1200)
	sameAsRead(t, s.Readings())
	if n := s.Readings().ShiftOffsets(); n < 10 {
		t.Fatalf("the log remembers %d offsets", n)
	}
	sameAsRead(t, s.Readings())
}
