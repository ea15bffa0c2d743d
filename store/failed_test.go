package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// mustFail returns what a store tells of its failure.
func mustFail(t *testing.T, s *store.Store) error {
	t.Helper()
	select {
	case err := <-s.Failed():
		return err
	case <-time.After(patience):
		t.Fatal("a failure is not told")
		return nil
	}
}

// TestCloseGoesOn holds that a sync that fails at the stop keeps neither the server running nor a mark behind.
func TestCloseGoesOn(t *testing.T) {
	o := options(t.TempDir())
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	storetest.MustAdd(t, a, "a", 3)
	_ = a.Close()
	broken := errors.New("no sync")
	s.Events().FailSyncs(broken)
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("close: %v", err)
	}
	if text := mustRead(t, filepath.Join(o.Dir, "LEDGE_EVENTS.manifest")); bytes.Contains(text, []byte(`"end"`)) {
		t.Error("it was marked as a clean stop")
	}
	s = mustOpen(t, o)
	storetest.MustAdd(t, storetest.MustAppender(t, s.Events(), p), "b", 1)
}

// TestCatchUpEndsWithItsContext holds that a start can be given up.
func TestCatchUpEndsWithItsContext(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, "a", 10)
	_ = a.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.NewAppender(ctx, s.Events(), storetest.NewProjection(), store.AppenderOptions{}); !errors.Is(err, context.Canceled) || store.IsDamage(err) {
		t.Errorf("err = %v", err)
	}
}

// TestNothingWaitsForTaps holds that neither answers nor appends wait while taps take nothing, whatever the number of groups and bytes.
func TestNothingWaitsForTaps(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	submit, readings := store.Stalled(s.Events(), storetest.NewProjection()), store.Stalled(s.Readings(), storetest.NewProjection())
	for i := range uint64(store.FeedGroups + 3) {
		if o := submit(storetest.Add(fmt.Sprint("s", i))); o.Err != nil || o.Seq != i+1 {
			t.Fatalf("%d: %+v", i, o)
		}
	}
	for i := range uint64(20) {
		if o := readings(storetest.Post("cam-1", make([]byte, 1<<20))); o.Err != nil || o.Seq != i+1 {
			t.Fatalf("%d: %+v", i, o)
		}
	}
}

// TestRestartThatFails has the restart after a failed write fail: at an fsync of another log, which would succeed the next time, or because the
// server does not start. After the first, all logs refuse; after the second, the next write starts the server. Nothing panics.
func TestRestartThatFails(t *testing.T) {
	for name, fail := range map[string]func(*testing.T, *store.Store){
		"fsync of another log": func(_ *testing.T, s *store.Store) {
			s.Notifications().FailSync(syscall.EIO)
			s.Readings().DelayAcks(0, func(string) bool { return true })
		},
		"server": func(t *testing.T, s *store.Store) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := s.Restart(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("restart: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t.TempDir())
			o.AckTimeout = 100 * time.Millisecond
			s, err := store.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			p := storetest.NewProjection()
			first, others := storetest.MustAppender(t, s.Readings(), storetest.NewProjection()), storetest.MustAppender(t, s.Events(), p)
			fail(t, s)
			if got, err := first.Submit(t.Context(), storetest.Post("cam-1", []byte("one"))); err == nil && domain.CodeOf(got[0].Err) != domain.Unavailable {
				t.Errorf("the log whose write failed: %+v", got)
			}
			_, err = others.Submit(t.Context(), storetest.Add("one"))
			if final := name != "server"; final != (domain.CodeOf(err) == domain.Unavailable) {
				t.Errorf("another log: %v", err)
			}
			_, _ = first.Close(), others.Close()
			_ = s.Close()
		})
	}
}
