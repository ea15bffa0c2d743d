package store_test

import (
	"context"
	"testing"

	"ledge/store"
	"ledge/store/storetest"
)

// mustTwoStreams records two events, then a reading, with taps.
func mustTwoStreams(t *testing.T) *store.Store {
	t.Helper()
	s, a, _ := mustTap(t)
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

// TestFollowEnds holds that the end of the context is no error, during the history and after it.
func TestFollowEnds(t *testing.T) {
	tap, err := store.OpenTap(t.Context(), mustTwoStreams(t).OwnURL())
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	for last := 1; last <= 3; last++ {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := tap.Follow(ctx, 1, store.Place{}, func(store.Message) error {
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

// TestFollowSaysThatTheServerIsGone holds that without a server there is an error.
func TestFollowSaysThatTheServerIsGone(t *testing.T) {
	s := mustTwoStreams(t)
	tap, err := store.OpenTap(t.Context(), s.OwnURL())
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	n := 0
	err = tap.Follow(t.Context(), 1, store.Place{}, func(store.Message) error {
		if n++; n == 3 {
			go s.Close()
		}
		return nil
	})
	if err == nil || !tap.Lost() {
		t.Errorf("error %v, lost %t", err, tap.Lost())
	}
}
