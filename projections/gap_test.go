package projections

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ledge/domain"
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
		must(t, c.flush(seq))
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
		f.reopen(t, limits{after: time.Hour})
		c := &coming{f, rand.New(rand.NewPCG(seed, 2)), nil, map[string]uint64{}}
		for i := range 20 << (seed % 4) { // more places than are remembered, or fewer
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
			if n := len(c.file.absent.Load().known); n > mostGaps {
				t.Fatalf("%d places are known, want %d at most", n, mostGaps)
			}
		}
	}
}

// Of names and ids that are given about in order, one search of each table finds all absent until the next flush, and no
// transaction stays open for that.
func TestOneSearchForAll(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, limits{after: time.Hour})
	f.feed(t, 10, cameras(30)...)
	for flush := range 3 {
		must(t, f.flush(f.at().seq))
		var known []gap
		for group := range 5 {
			s, release := f.State()
			if f.file.absent.Load() != nil {
				t.Error("another State could have the same places")
			}
			seq, _ := f.Checkpoint()
			var adds []domain.Event
			for _, i := range []int{2, 0, 3, 1} {
				d := camera(int(seq) + i)
				d.ID, d.Name = ordered(int(seq)+i), fmt.Sprintf("camera-zone-%06d", int(seq)+i)
				_, named := s.Devices.Get(d.Name)
				_, owned := s.IDs.Get("device/" + d.ID)
				if named || owned {
					t.Fatalf("%s is there, or its id", d.Name)
				}
				adds = append(adds, domain.DeviceAdded{Device: d})
			}
			release()
			f.add(t, adds...)
			now := f.file.absent.Load().known
			if group > 0 && !slices.EqualFunc(now, known, func(a, b gap) bool { return &a.from[0] == &b.from[0] }) || len(now) != 2 {
				t.Errorf("flush %d, group %d: %q, before %q", flush, group, now, known)
			}
			known = now
			if n := f.file.Stats().OpenTxN; n != 0 {
				t.Errorf("%d transactions are open", n)
			}
		}
	}
}
