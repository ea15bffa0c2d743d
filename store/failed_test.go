package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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

// TestNothingWaitsForFollowers holds that neither answers nor appends wait while a follower of messages takes nothing, whatever the number of
// groups and bytes. Then the follower gets all of them, in order, as they stand on the log.
func TestNothingWaitsForFollowers(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	for _, l := range []*store.Log{s.Events(), s.Readings()} {
		a, err := store.NewAppender(t.Context(), l, storetest.NewProjection(), store.AppenderOptions{Messages: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		const most = 60
		goOn, got := make(chan struct{}), make(chan store.Message, most)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			_ = a.FollowMessages(ctx, 1, func(group []store.Message) error {
				<-goOn
				for _, m := range group {
					got <- m
				}
				return nil
			})
		}()
		for i := range most {
			r := storetest.Add(fmt.Sprint("s", i))
			if l == s.Readings() {
				r = storetest.Post("cam-1", make([]byte, 200<<10))
			}
			storetest.MustSubmit(t, a, r)
		}
		close(goOn)
		for group, err := range l.Messages(t.Context(), 1, most) {
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range group {
				if m := <-got; m.Seq != want.Seq || m.Subject != want.Subject || !slices.Equal(sorted(m.Header), sorted(want.Header)) || !bytes.Equal(m.Data, want.Data) {
					t.Fatalf("%s: got %d %s %v\nwant %d %s %v", l.Name(), m.Seq, m.Subject, m.Header, want.Seq, want.Subject, want.Header)
				}
			}
		}
	}
}

// sorted returns headers in the order of their names.
func sorted(h store.Header) store.Header {
	return slices.SortedFunc(slices.Values(h), func(a, b store.Field) int { return strings.Compare(a.Name, b.Name) })
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
