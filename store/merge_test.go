package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"
)

// mustTwoStreams records two events, then a reading.
func mustTwoStreams(t *testing.T) *store.Store {
	t.Helper()
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	readings := storetest.MustAppender(t, s.Readings(), storetest.NewProjection())
	storetest.MustAdd(t, a, "a", 2)
	storetest.MustSubmit(t, readings, storetest.Post("cam-1", nil))
	return s
}

func TestMergeFrom(t *testing.T) {
	s := mustTwoStreams(t)
	for from, want := range map[uint64]int{0: 3, 1: 3, 2: 2, 3: 0, 100: 0} {
		n := 0
		for _, err := range store.Merge(t.Context(), []*store.Log{s.Events(), s.Readings()}, from) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("from %d: %d messages, want %d", from, n, want)
		}
	}
}

// TestFollowEnds holds that the end of the context is not an error, during the history and after it.
func TestFollowEnds(t *testing.T) {
	s := mustTwoStreams(t)
	files, err := store.OpenRunning(t.Context(), s.Dir(), s.Ask)
	if err != nil {
		t.Fatal(err)
	}
	for last := 1; last <= 3; last++ {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := files.Follow(ctx, 1, store.Place{}, func(store.Message) error {
			if n++; n == last {
				cancel()
			}
			return ctx.Err()
		})
		cancel()
		if err != nil || n != last {
			t.Errorf("ended at %d: %v after %d", last, err, n)
		}
	}
}

// TestFollowWithoutAnswer holds that a server which does not answer is an error and no damage, also if blocks are missing meanwhile: nobody
// knows then where the log begins.
func TestFollowWithoutAnswer(t *testing.T) {
	s, gone := mustTwoStreams(t), errors.New("gone")
	away := false
	files, err := store.OpenRunning(t.Context(), s.Dir(), func(ctx context.Context, after store.Place) (map[string]store.Info, error) {
		if away {
			return nil, gone
		}
		return s.Ask(ctx, after)
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = files.Follow(t.Context(), 1, store.Place{}, func(store.Message) error {
		n++
		away = n == 3
		return nil
	})
	if !errors.Is(err, gone) {
		t.Errorf("error %v after %d", err, n)
	}
	mustRemoveBlocks(t, s.Dir(), store.EventsStream)
	for _, err := range files.Logs()[0].ReadRaw(t.Context(), 1, 2) {
		if !errors.Is(err, gone) || store.IsDamage(err) {
			t.Errorf("without the block: %v", err)
		}
	}
	away = false
	for _, err := range files.Logs()[0].ReadRaw(t.Context(), 1, 2) {
		if !store.IsDamage(err) {
			t.Errorf("without the block, and the server says that it is there: %v", err)
		}
	}
}

// TestFollowBehindRetention holds that a follower goes on behind what retention has removed, and waits then.
func TestFollowBehindRetention(t *testing.T) {
	s, _, a := keepBytes(t, options(t.TempDir()), 300)
	asked := 0
	files, err := store.OpenRunning(t.Context(), s.Dir(), func(ctx context.Context, after store.Place) (map[string]store.Info, error) {
		asked++
		return s.Ask(ctx, after)
	})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := s.Readings().DropBefore(t.Context(), 300); err != nil || first < 200 {
		t.Fatalf("the log begins at %d, %v", first, err)
	}
	first, seen := s.Readings().First(), store.Place{store.EventsStream: 0, store.NotificationsStream: 0, store.ReadingsStream: 1}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next := first
	err = files.Follow(ctx, 0, seen, func(m store.Message) error {
		if m.Seq != next {
			t.Errorf("got %d, want %d", m.Seq, next)
		}
		if next = m.Seq + 1; m.Seq == 300 {
			go storetest.MustSubmit(t, a, storetest.Post("cam-1", nil))
		}
		if m.Seq == 301 {
			cancel()
		}
		return nil
	})
	if err != nil || next != 302 {
		t.Errorf("ended before %d: %v", next, err)
	}
	if asked > 4 {
		t.Errorf("the server was asked %d times for 2 ends", asked)
	}
}

// TestFollowBehindNothing holds that a follower waits for what comes, if retention has removed all that was recorded.
func TestFollowBehindNothing(t *testing.T) {
	s, _, a := keepBytes(t, options(t.TempDir()), 10)
	if err := s.Readings().ExpireBefore(t.Context(), 11); err != nil {
		t.Fatal(err)
	}
	files, err := store.OpenRunning(t.Context(), s.Dir(), func(ctx context.Context, after store.Place) (map[string]store.Info, error) {
		if last, there := after[store.ReadingsStream]; there && last == 10 {
			go storetest.MustSubmit(t, a, storetest.Post("cam-1", nil))
		} else if there {
			return nil, fmt.Errorf("asked for what comes after %d", last)
		}
		return s.Ask(ctx, after)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := uint64(0)
	err = files.Follow(ctx, 0, store.Place{store.ReadingsStream: 1}, func(m store.Message) error {
		got = m.Seq
		cancel()
		return nil
	})
	if err != nil || got != 11 {
		t.Errorf("got %d, %v, want 11", got, err)
	}
}

// TestInfoAfter holds that what waits for a log to go on is woken.
func TestInfoAfter(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	answer := make(chan map[string]store.Info, 1)
	go func() { answer <- s.InfoAfter(t.Context(), store.Place{}) }()
	eventually(t, "it waits", s.Awaited)
	storetest.MustAdd(t, a, "a", 2)
	select {
	case all := <-answer:
		if all[store.EventsStream].Last == 0 {
			t.Errorf("got %+v", all)
		}
	case <-time.After(time.Minute):
		t.Error("it still waits")
	}
}

// mustRemoveBlocks removes the files of a log.
func mustRemoveBlocks(t *testing.T, dir, stream string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "LEDGE", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d blocks: %v", len(files), err)
	}
	for _, path := range files {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
