package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// tooDeep is an event as versions before the limit of 64 levels could append it.
func tooDeep() domain.Wire {
	location := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	return domain.Wire{
		Type: "device.added/1", Subject: domain.Subject{"device", "deep", "added"}, ContentType: "application/json",
		Data: []byte(`{"device":{"name":"deep","location":` + location + `}}`),
	}
}

// TestUndecodableEventIsSkipped holds that a log with an event that cannot be decoded starts, is verified, read and followed,
// and takes more events.
func TestUndecodableEventIsSkipped(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, options(dir))
	mustAddAndClose(t, s, "before")
	if err := s.Events().AppendWire(storetest.Add("x").Stamp, tooDeep()); err != nil {
		t.Fatal(err)
	}
	mustAddAndClose(t, s, "after")
	for range 2 { // once more after a restart
		holdsSkipped(t, s.Events())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, options(dir))
	}
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	if got := len(p.Events()); got != 3 {
		t.Errorf("caught up with %d events, want 3", got)
	}
	storetest.MustAdd(t, a, "more", 1)
	enough, n := errors.New("enough"), 0
	err := a.Follow(t.Context(), 1, func(group []domain.Recorded) error {
		if n += len(group); n == 4 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("follow: got %v after %d events", err, n)
	}
}

func mustAddAndClose(t *testing.T, s *store.Store, name string) {
	t.Helper()
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, name, 1)
	_ = a.Close()
}

func holdsSkipped(t *testing.T, l *store.Log) {
	t.Helper()
	r, err := l.Verify(context.Background(), nil)
	if err != nil || r.Count != 3 || len(r.Skipped) != 1 || r.Skipped[0].Seq != 2 || r.Skipped[0].Type != "device.added/1" {
		t.Fatalf("verify: got %+v, %v", r, err)
	}
	e, ok, err := l.EventAt(t.Context(), 2)
	if _, is := e.(domain.Undecodable); !is || !ok || err != nil {
		t.Errorf("event 2: got %#v, %t, %v", e, ok, err)
	}
	if st, err := l.Stats(); err != nil || st.Skipped != 1 {
		t.Errorf("stats: got %+v, %v", st, err)
	}
}

// TestFutureEventIsNotSkipped holds that an event of a type, or with a field, that a newer version has written stops an older one. Before, the
// field was dropped, so that a downgrade forgot it.
func TestFutureEventIsNotSkipped(t *testing.T) {
	for _, c := range []struct{ kind, data, want string }{
		{"device.added/99", `{}`, `event type "device.added/99" is unknown`},
		{"device.added/1", `{"device":{"name":"deep","later":1}}`, `field "later" is unknown`},
		{"subscription.added/3", `{"subscription":{"channels":[{"type":"later"}]}}`, `channel type "later" is unknown to this version of ledge`},
	} {
		s := mustOpen(t, options(t.TempDir()))
		w := tooDeep()
		w.Type, w.Data = c.kind, []byte(c.data)
		if err := s.Events().AppendWire(storetest.Add("x").Stamp, w); err != nil {
			t.Fatal(err)
		}
		a, err := store.NewAppender(t.Context(), s.Events(), storetest.NewProjection(), store.AppenderOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want an error with %q", c.kind, a, err, c.want)
		}
	}
}
