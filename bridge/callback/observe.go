package callback

import "sync/atomic"

// Counts is how many callbacks ended how since the start.
type Counts struct {
	Accepted, Refused uint64 // by the device service
	Failed            uint64 // tries that failed and are repeated
	GivenUp           uint64 // because the device service did not answer for too long
	Dropped           uint64 // because too many waited
}

type counts struct{ accepted, refused, failed, givenUp, dropped atomic.Uint64 }

// Counts returns the counts so far.
func (c *Callbacks) Counts() Counts {
	n := &c.counts
	return Counts{n.accepted.Load(), n.refused.Load(), n.failed.Load(), n.givenUp.Load(), n.dropped.Load()}
}

// Queued is how many callbacks wait, those under way included, and for how many device services.
func (c *Callbacks) Queued() (callbacks, services int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.services {
		if len(s.waiting) > 0 {
			services++
			callbacks += len(s.waiting)
		}
	}
	return callbacks, services
}

// count notes how a callback ended that is not tried again.
func (n *counts) count(a answer) {
	if a.accepted() {
		n.accepted.Add(1)
	} else {
		n.refused.Add(1)
	}
}
