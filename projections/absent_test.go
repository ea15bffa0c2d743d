package projections

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"ledge/domain"
	"ledge/projections/fold"
)

// coming is notifications that come and go, and the sequences of the events that have put those that are there.
type coming struct {
	*fed
	*rand.Rand
	ids  []string
	puts map[string]uint64
}

// step applies an event or more, flushes, or forgets.
func (c *coming) step(t *testing.T) {
	t.Helper()
	seq, _ := c.Checkpoint()
	switch c.IntN(12) {
	case 0:
		must(t, flush(c.DB))
	case 1:
		first := c.events[0].Seq + uint64(c.IntN(4))
		if first > seq {
			return
		}
		_, err := c.Forget(t.Context(), first)
		must(t, err)
		c.events = c.events[first-c.events[0].Seq:]
		maps.DeleteFunc(c.puts, func(_ string, put uint64) bool { return put < first })
	default:
		for range 1 + c.IntN(3) {
			seq++
			c.feed(t, 1, recorded(seq, c.change(seq)))
		}
	}
}

// change adds what is not there, and removes what is.
func (c *coming) change(seq uint64) domain.Event {
	id := c.ids[c.IntN(len(c.ids))]
	if c.puts[id] == 0 {
		c.puts[id] = seq
		return domain.NotificationAdded{Notification: domain.Notification{ID: id, Content: fmt.Sprint(seq)}}
	}
	delete(c.puts, id)
	return domain.NotificationsRemoved{Notifications: []string{id}}
}

// check compares a State with what is to be there.
func (c *coming) check(t *testing.T, s domain.State, puts map[string]uint64) {
	t.Helper()
	for range 1 + c.IntN(30) {
		id := c.ids[c.IntN(len(c.ids))]
		n, ok := s.Notifications.Get(id)
		if seq := puts[id]; ok != (seq > 0) || ok && n.Content != fmt.Sprint(seq) {
			t.Fatalf("%s: got %t %q, want that of %d", id, ok, n.Content, seq)
		}
	}
}

// Whatever comes and goes, and whatever is flushed or forgotten between, a State has what is there, and so has one that
// was asked for before.
func TestAbsentIsAbsent(t *testing.T) {
	for seed := range uint64(8) {
		f := MustOpen(t, Notifications)
		f.reopen(t, fold.Limits{After: time.Hour})
		c := &coming{f, rand.New(rand.NewPCG(seed, 2)), nil, map[string]uint64{}}
		for i := range 20 << (seed % 4) {
			c.ids = append(c.ids, ordered(i), uuid("any", i))
		}
		c.feed(t, 1, recorded(1, c.change(1)))
		for range 300 {
			old, release := c.State()
			puts := maps.Clone(c.puts)
			if c.IntN(2) == 0 {
				c.check(t, old, puts)
			}
			early := c.IntN(4) > 0
			if early {
				release()
			}
			c.step(t)
			if !early {
				c.check(t, old, puts)
				s, done := c.State()
				c.check(t, s, c.puts)
				done()
				release()
			}
		}
	}
}
