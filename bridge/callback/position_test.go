package callback

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"ledge/domain"
)

// Only what is certain is recorded: until the follower is again where the record is, nobody knows what still waits.
func TestWhere(t *testing.T) {
	c := New(Options{})
	c.position.upTo, c.position.behind, c.position.moved = 10, map[string]uint64{"slow": 4, "back": 5}, true
	c.services["slow"] = &service{name: "slow", waiting: []due{{seq: 8}, {seq: 12}}}
	c.services["back"] = &service{name: "back"}
	c.followed = 9
	if command, ok := c.where(false); ok {
		t.Errorf("recorded %+v while behind the record", command)
	}
	c.followed = 13
	command, ok := c.where(false)
	if want := map[string]uint64{"slow": 7, "back": 0}; !ok || command.UpTo != 13 || !maps.Equal(command.Behind, want) {
		t.Fatalf("got %+v, %t, want up to 13 and %v", command, ok, want)
	}
	c.position.recorded(command)
	if want := map[string]uint64{"slow": 7}; !maps.Equal(c.position.behind, want) {
		t.Errorf("behind: got %v, want %v", c.position.behind, want)
	}
	if command, ok := c.where(true); ok {
		t.Errorf("recorded %+v at the end although nothing moved", command)
	}
}

// deciding is a log that decides commands and keeps their events.
type deciding struct {
	state  domain.State
	events []domain.CallbacksMade
}

func (d *deciding) Submit(_ context.Context, reqs ...domain.Request) ([]domain.Outcome, error) {
	e, err := reqs[0].Command.Decide(d.state)
	if made, ok := e.(domain.CallbacksMade); ok {
		made.Evolve(d.state)
		d.events = append(d.events, made)
	}
	return []domain.Outcome{{Event: e, Err: err}}, nil
}

// More services behind than one event names are on record in several, and the position moves with the last.
func TestManyServicesBehind(t *testing.T) {
	log := &deciding{state: domain.NewMapState()}
	c := New(Options{Notifications: log, Now: time.Now})
	command := domain.RecordCallbacks{UpTo: 9, Behind: map[string]uint64{}}
	for i := range 2*behindTogether + 1 {
		command.Behind[fmt.Sprint("s-", i)] = 5
	}
	if err := c.submit(t.Context(), command); err != nil || len(log.events) != 3 {
		t.Fatalf("%d events, %v", len(log.events), err)
	}
	for i, e := range log.events {
		if want := map[bool]uint64{true: 9}[i == 2]; e.UpTo != want || len(e.Behind) > behindTogether {
			t.Errorf("event %d: up to %d, want %d, with %d services", i, e.UpTo, want, len(e.Behind))
		}
	}
	if seq, _ := log.state.Cursors.Get(domain.CursorCallbacksOf("s-0")); seq != 5 {
		t.Errorf("s-0 is at %d", seq)
	}
}
