package asof_test

import (
	"context"
	"testing"

	"ledge/bridge/asof"
	"ledge/domain"
)

// unreadable is a table that cannot answer for now.
type unreadable[S any] struct{ domain.Table[S] }

func (unreadable[S]) Get(string) (S, bool) {
	panic(domain.Errorf(domain.Unavailable, "the file is being healed"))
}

// A state that cannot be read for now is read again: an update is never passed on without its entity.
func TestWholeWaitsForTheState(t *testing.T) {
	state, looks, released := domain.NewMapState(), 0, 0
	state.Devices.Put("d", domain.Device{Name: "d", Description: "new"})
	broken := state
	broken.Devices = unreadable[domain.Device]{state.Devices}
	e := asof.Entities{
		State: func() (domain.State, func()) {
			done := func() { released++ }
			if looks++; looks == 1 {
				return broken, done
			}
			return state, done
		},
		Try: func(_ context.Context, read func() error) (err error) {
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
