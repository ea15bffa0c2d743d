package store_test

import (
	"bytes"
	"testing"

	"ledge/domain"
	"ledge/store/storetest"
)

func TestEvent(t *testing.T) {
	o := options(t.TempDir())
	o.ReadingsMaxBytes = 12 << 20
	s, _, a := keepBytes(t, o, 3)
	value := func(seq uint64) (int, bool) {
		t.Helper()
		e, ok, err := s.Readings().Event(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := e.(domain.ReadingPosted)
		return len(r.Value), ok
	}
	for seq := uint64(1); seq <= 3; seq++ {
		if n, ok := value(seq); n != 100<<10 || !ok {
			t.Errorf("%d: got %d bytes, %t", seq, n, ok)
		}
	}
	large := bytes.Repeat([]byte("x"), 10<<20) // more than a page of the log
	storetest.MustSubmit(t, a, storetest.Post("cam-1", large))
	if n, ok := value(4); n != len(large) || !ok {
		t.Errorf("large: got %d bytes, %t", n, ok)
	}
	storetest.MustSubmit(t, a, storetest.Post("cam-1", large))
	if n, ok := value(2); n != 0 || ok {
		t.Errorf("what retention has removed: got %d bytes, %t", n, ok)
	}
	if _, ok, err := s.Readings().Event(t.Context(), 99); ok || err == nil {
		t.Error("found an event that is not there yet")
	}
}
