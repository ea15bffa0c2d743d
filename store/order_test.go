package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// TestAppliedAfterTheSync holds that nothing is visible that a power cut could undo.
func TestAppliedAfterTheSync(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	d := &disk{sizes: map[string]int64{}, names: map[string]bool{}}
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	storetest.MustAdd(t, a, "first", 1)
	s.Events().OnSync(d.synced)
	p.Fail = func(g []domain.Recorded) error {
		if d.syncs == 0 {
			t.Errorf("%d is applied before it is synced", g[0].Seq)
		}
		d.syncs = 0
		return nil
	}
	for i := range 5 {
		storetest.MustAdd(t, a, fmt.Sprint("s", i), 3)
	}
}

// TestIntruder has something else write to the log, as nothing can but Ledge itself: no success is answered, and the log
// refuses from then on, because what it holds is not of its chain.
func TestIntruder(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, "a", 3)
	if err := s.Events().Intrude("service.intruder.added"); err != nil {
		t.Fatal(err)
	}
	got, err := a.Submit(t.Context(), storetest.Add("b"), storetest.Add("c"), storetest.Add("d"))
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range got {
		if domain.CodeOf(o.Err) != domain.Unavailable || o.Seq != 0 || !domain.InDoubt(o.Err) {
			t.Errorf("outcome %d: %+v", i, o)
		}
	}
	if err := s.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "sequence 4") {
		t.Errorf("health: %v", err)
	}
}

func TestSubmitAfterStoreClosed(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, "a", 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Submit(t.Context(), storetest.Add("b")); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("submit: %v", err)
	}
}

// TestQueueIsBounded fills the queue while the appender is busy: who does not fit waits as long as its context lasts, and
// gets in when there is room.
func TestQueueIsBounded(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	p := storetest.NewProjection()
	a, err := store.NewAppender(t.Context(), s.Readings(), p, store.AppenderOptions{QueueBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	busy, release := make(chan struct{}), make(chan struct{})
	p.Fail = func(g []domain.Recorded) error {
		if g[0].Seq == 1 {
			close(busy)
			<-release
		}
		return nil
	}
	body := make([]byte, 600<<10)
	var all sync.WaitGroup
	submit := func() {
		all.Go(func() {
			if o, err := a.Submit(t.Context(), storetest.Post("cam-1", body)); err != nil || o[0].Err != nil {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	submit()
	<-busy
	submit()
	eventually(t, "the second one waits", func() bool { return a.Waiting() == 1 })
	submit()
	eventually(t, "the third one waits for room", a.RoomAwaited)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := a.Submit(ctx, storetest.Post("cam-1", body))
		failed <- err
	}()
	cancel()
	if err := <-failed; domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("beyond the bound: %v", err)
	}
	close(release)
	all.Wait()
	if last, _ := s.Readings().Last(); last != 3 {
		t.Errorf("last = %d", last)
	}
}
