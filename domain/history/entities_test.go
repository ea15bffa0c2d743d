package history_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/domain/history"
)

// unreadable is a table that cannot answer for now.
type unreadable[S any] struct{ domain.Table[S] }

func (unreadable[S]) Get(string) (S, bool) {
	panic(domain.Errorf(domain.Unavailable, "the file is damaged"))
}

// A state that cannot be read for now is read again: an update is never passed on without its entity.
func TestWholeWaitsForTheState(t *testing.T) {
	state, looks, released := domain.NewMapState(), 0, 0
	state.Devices.Put("d", domain.Device{Name: "d", Description: "new"})
	broken := state
	broken.Devices = unreadable[domain.Device]{state.Devices}
	e := history.Entities{
		State: func() (domain.State, func()) {
			done := func() { released++ }
			if looks++; looks == 1 {
				return broken, done
			}
			return state, done
		},
		Try: func(read func() error) (err error) {
			for again := true; again; {
				again = domain.Try(func() { err = read() }) != nil
			}
			return err
		},
	}
	u := domain.Update{Name: "d", Changes: domain.Changes{"description": {Was: []byte(`"old"`), Is: []byte(`"new"`)}}}
	got, err := e.Whole(t.Context(), domain.Recorded{Event: domain.DevicePatched{Update: u}})
	if d, ok := got.Event.(domain.DeviceUpdated); err != nil || !ok || d.Device.Description != "new" || looks != 2 || released != 2 {
		t.Errorf("got %+v, %v after %d looks, %d released", got.Event, err, looks, released)
	}
}

// revised is a table whose entities all have one revision.
type revised[S any] struct {
	domain.Table[S]
	revision uint64
}

func (r revised[S]) Revision(string) uint64 { return r.revision }

// TestFarBehind follows all changes of a large device when it has its last state. Before, an entity of more than 64 KiB was not
// remembered, so that the stream was read for each change: 34 s for 110 changes of 83 KB. The subscriptions of the time are found without
// any of that.
func TestFarBehind(t *testing.T) {
	const changes = 110
	text := func(i int) string { return fmt.Sprint(i) + strings.Repeat("x", 83<<10) }
	events := make([]domain.Recorded, changes+1)
	for i := range events {
		u := domain.Update{Name: "d", Prev: uint64(i), Changes: domain.Changes{"description": {Was: fmt.Appendf(nil, "%q", text(i)), Is: fmt.Appendf(nil, "%q", text(i+1))}}}
		events[i] = domain.Recorded{Seq: uint64(i) + 1, Event: domain.DevicePatched{Update: u}}
	}
	events[changes].Event = domain.SubscriptionAdded{Subscription: domain.Subscription{Name: "s"}}
	state := domain.NewMapState()
	state.Devices.Put("d", domain.Device{Name: "d", Description: text(changes)})
	state.Devices = revised[domain.Device]{state.Devices, changes}
	reads := 0
	e := history.Entities{
		State: func() (domain.State, func()) { return state, func() {} },
		Last:  func() uint64 { return changes + 1 },
		History: func(_ context.Context, from, to uint64, f func(domain.Recorded) error) error {
			for _, r := range events[from-1 : max(from-1, to)] {
				reads++
				if err := f(r); err != nil {
					return err
				}
			}
			return nil
		},
	}
	n := 0
	if err := e.ReadSubscriptions(t.Context(), 1, changes+1, func(r domain.Recorded) error { n++; return nil }); err != nil || n != 1 || reads != changes+1 {
		t.Errorf("subscriptions: %v, %d events, %d reads", err, n, reads)
	}
	reads = 0
	seen := 0
	err := e.Read(t.Context(), 1, changes, func(r domain.Recorded) error {
		if d, ok := r.Event.(domain.DeviceUpdated); !ok || d.Device.Description != text(int(r.Seq)) {
			t.Errorf("event %d: %.40v", r.Seq, r.Event)
		}
		seen++
		return nil
	})
	if err != nil || seen != changes || reads > 4*changes {
		t.Errorf("%v, %d events, %d reads", err, seen, reads)
	}
}
