package store_test

import (
	"errors"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// keepBytes records readings of 100 KiB.
func keepBytes(t *testing.T, o store.Options, n int) (*store.Store, *storetest.Projection, *store.Appender) {
	t.Helper()
	s := mustOpen(t, o)
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Readings(), p)
	for range n {
		storetest.MustSubmit(t, a, storetest.Post("cam-1", make([]byte, 100<<10)))
	}
	return s, p, a
}

// TestFrontInsideOfABlock moves the start to an event in the middle of a block: it is where it is, also over a restart.
func TestFrontInsideOfABlock(t *testing.T) {
	o := options(t.TempDir())
	s, p, a := keepBytes(t, o, 200) // over several blocks
	if err := s.Readings().ExpireBefore(t.Context(), 190); err != nil {
		t.Fatal(err)
	}
	check := func(s *store.Store) {
		t.Helper()
		first := s.Readings().First()
		if first != 190 {
			t.Fatalf("first = %d", first)
		}
		for _, from := range []uint64{0, 1, 150, first, first + 1} {
			got := storetest.MustRead(t, s.Readings(), from, 0)
			if want := max(first, from); len(got) == 0 || got[0].Seq != want || got[len(got)-1].Seq != 200 {
				t.Errorf("read from %d: %d events", from, len(got))
			}
		}
		if got := storetest.MustRead(t, s.Readings(), 3, 9); len(got) != 0 {
			t.Errorf("read %d events that are gone", len(got))
		}
		if r, err := s.Readings().Verify(t.Context(), nil); err != nil || r.First != first || r.Last != 200 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	_ = a.Close()
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, o)
	check(s)

	enough := errors.New("enough")
	a, err := store.NewAppender(t.Context(), s.Readings(), storetest.NewProjection(), store.AppenderOptions{})
	if err != nil {
		t.Fatalf("a projection that begins at what is kept: %v", err)
	}
	defer a.Close()
	err = a.Follow(t.Context(), 1, func(g []domain.Recorded) error {
		if g[0].Seq != s.Readings().First() {
			t.Errorf("following begins at %d", g[0].Seq)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
	if _, chain := s.Readings().Last(); len(p.Events()) != 200 || p.Events()[199].Chain != chain {
		t.Error("the end of the log is another one")
	}
}

// openAgain closes a store and opens it again, as after a clean stop or another one.
func openAgain(t *testing.T, s *store.Store, o store.Options, clean bool) *store.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !clean {
		storetest.ForgetStop(t, o.Dir)
	}
	return mustOpen(t, o)
}

// TestRetentionTakesAll has every event expire: the sequence and the chain go on, also over a restart.
func TestRetentionTakesAll(t *testing.T) {
	for _, clean := range []bool{true, false} {
		o := options(t.TempDir())
		s, p, a := keepBytes(t, o, 3)
		if err := s.Readings().ExpireBefore(t.Context(), 10); err != nil || s.Readings().First() != 4 {
			t.Errorf("the log begins at %d, %v", s.Readings().First(), err)
		}
		if got := storetest.MustRead(t, s.Readings(), 0, 0); len(got) != 0 {
			t.Errorf("read %d events", len(got))
		}
		_ = a.Close()
		s = openAgain(t, s, o, clean)
		a = storetest.MustAppender(t, s.Readings(), p)
		if got := storetest.MustSubmit(t, a, storetest.Post("cam-1", nil)); got[0].Seq != 4 {
			t.Errorf("clean %t: sequence %d", clean, got[0].Seq)
		}
		if err := s.Health(t.Context()); err != nil {
			t.Errorf("clean %t: %v", clean, err)
		}
	}
}
