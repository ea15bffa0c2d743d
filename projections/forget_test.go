package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/domain"
	"ledge/projections/fold"
)

// sinceFirst compares what f has after it forgot with a fold of the events from first on. Cursors stay.
func (f *fed) sinceFirst(t *testing.T, first int, events []domain.Recorded) {
	t.Helper()
	sameDump(t, withoutCursors(f.mustDump(t)), withoutCursors(rebuilt(t, f.tables, events[first-1:])))
}

// withoutCursors leaves out what says how far something has come: the cursors, and the checkpoint and the number of keys, whose keys begin with 00.
func withoutCursors(dump string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(dump, "\n"), func(l string) bool {
		return strings.HasPrefix(l, `{"table":"cursors"`) || strings.HasPrefix(l, fmt.Sprintf("%02x", cursorsID)) || strings.HasPrefix(l, "00")
	}), "\n")
}

// startAgain gives f an empty file and the events, for the comparison at the end of the test.
func (f *fed) startAgain(t *testing.T, events []domain.Recorded) {
	t.Helper()
	must(t, f.Close())
	f.options.Path += "2"
	f.open(t)
	must(t, f.Apply(events))
	f.events = events
}

// What is left after Forget is a fold of the events that are left, whatever waits for the file meanwhile.
func TestForget(t *testing.T) {
	short(t)
	for tables, next := range map[Tables]func(*history){Notifications: (*history).notification, Readings: (*history).reading} {
		for name, l := range map[string]fold.Limits{"behind": {After: time.Hour}, "direct": direct, "tight": tight} {
			t.Run(fmt.Sprint(tables, " ", name), func(t *testing.T) {
				f, h := MustOpen(t, tables), newHistory(7)
				f.reopen(t, l)
				gone := 0
				for _, first := range []int{1, 2, 90, 90, 91, 1300, 1400, 1751} {
					from := len(h.events)
					for len(h.events) < min(from+250, 1750) {
						next(h)
					}
					for batch := range slices.Chunk(h.events[from:], 1+h.IntN(40)) {
						must(t, f.Apply(batch))
					}
					n, err := f.Forget(t.Context(), uint64(first))
					must(t, err)
					gone += n
					f.sinceFirst(t, first, h.events)
				}
				f.reopen(t, l)
				if seq, chain := f.Checkpoint(); gone < 250 || seq != 1750 || chain != chainOf(seq) {
					t.Errorf("%d rows went, at %d", gone, seq)
				}
				f.startAgain(t, h.events)
			})
		}
	}
}

// How far the bridge has come is known also when the event that said it is gone.
func TestForgetKeepsCursors(t *testing.T) {
	f := MustOpen(t, Notifications)
	f.add(t, domain.NotificationsRaised{Raised: []domain.Raised{{Notification: domain.Notification{ID: uuid("n", 1), Cause: 77}}}},
		domain.NotificationAdded{Notification: domain.Notification{ID: strings.Repeat("long", 1000)}})
	n, err := f.Forget(t.Context(), 3)
	must(t, err)
	s, release := f.State()
	at, _ := s.Cursors.Get(domain.CursorDeviceChanges)
	_, there := s.Notifications.Get(uuid("n", 1))
	release()
	if n != 2 || at != 77 || there {
		t.Errorf("%d rows went, cursor %d, notification there %t", n, at, there)
	}
	f.startAgain(t, f.events)
}

func TestForgetRefuses(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 1, cameras(3)...)
	if _, err := f.Forget(t.Context(), 2); message(err) != "forget: events are kept for ever" {
		t.Errorf("got %v", err)
	}
	r := MustOpen(t, Readings)
	r.feed(t, 1, posts(3)...)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := r.Forget(ended, 3); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
	must(t, r.Close())
	if _, err := r.Forget(t.Context(), 3); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	r.open(t)
}

// Forget, Apply and lists do not disturb each other.
func TestForgetWhileApplying(t *testing.T) {
	short(t)
	f := MustOpen(t, Readings)
	f.reopen(t, tight)
	events := posts(3000)
	done := make(chan struct{})
	var others sync.WaitGroup
	running := func() bool {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
	others.Go(func() {
		for running() {
			if seq, _ := f.Checkpoint(); seq > 50 {
				if _, err := f.Forget(t.Context(), seq-50); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	others.Go(func() {
		for running() {
			v, release := f.View()
			if list, total, err := v.Readings(Page{Limit: -1}, ByDevice("d")); err != nil || len(list) != min(total, 1024) {
				t.Errorf("%d of %d, %v", len(list), total, err)
			}
			release()
		}
	})
	for i := range events {
		must(t, f.Apply(events[i:i+1]))
	}
	close(done)
	others.Wait()
	_, err := f.Forget(t.Context(), 2951)
	must(t, err)
	f.sinceFirst(t, 2951, events)
	f.startAgain(t, events)
}

// posts is the history of n readings.
func posts(n int) []domain.Recorded {
	list := make([]domain.Recorded, n)
	for i := range list {
		r := domain.Reading{ID: uuid("reading", i), Device: "d", Resource: "r", Origin: int64(i)}
		list[i] = recorded(uint64(i+1), domain.ReadingPosted{Reading: r})
	}
	return list
}
