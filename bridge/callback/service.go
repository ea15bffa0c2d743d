package callback

import (
	"context"
	"math/rand/v2"
	"net/url"
	"time"

	"ledge/domain"
)

// service is a device service with the calls that wait for it.
type service struct {
	name, base string
	had        uint64 // the last event that it needed no calls for at the start
	waiting    []due  // the first is under way
	working    bool   // a goroutine makes its calls
	gone       bool   // it was removed
	dropped    int    // calls for which there was no room, since the last one that was made
	wake       chan struct{}
}

// due is a call that waits: the sequence of its event, which is read from the log again when its turn comes, and since
// when it waits.
type due struct {
	seq   uint64
	since time.Time
}

func newService(name string) *service {
	return &service{name: name, wake: make(chan struct{}, 1)}
}

// tryNow ends a wait for the next try.
func (s *service) tryNow() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// queue has a service called because of the event at seq; c.mu is held. A service that is not there any more is not.
func (c *Callbacks) queue(name string, seq uint64) {
	s := c.services[name]
	if s == nil || seq <= s.had {
		return
	}
	if len(s.waiting) >= c.Waiting {
		if s.dropped == 0 {
			c.Logger.Warn("callbacks dropped: too many wait for the device service", "service", name, "from event", s.waiting[0].seq, "limit", c.Waiting)
		}
		s.waiting = s.waiting[1:]
		s.dropped++
		c.counts.dropped.Add(1)
	}
	s.waiting = append(s.waiting, due{seq, c.Now()})
	if !s.working {
		s.working = true
		c.run(func() error { c.work(s); return nil })
	}
}

// The waits between two tries; each is cut at random by up to a half, so that services do not try in step.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// work makes the calls that wait for a service until there is none. EdgeX's SDK answers 500 where it has a device already,
// so after a call was repeated in vain the next of its kind is not, until one goes well: a service that has fetched a
// thousand devices by itself is through with the calls for them at once.
func (c *Callbacks) work(s *service) {
	var last due
	tries, wait, absent := 0, firstRetry, false
	futile := map[string]bool{} // by method: the last call that failed was repeated in vain
	for {
		d, base, ok := c.next(s, absent)
		if !ok {
			return
		}
		if d != last {
			last, tries = d, 0
		}
		a := c.call(s.name, base, d, absent || tries > 0)
		if c.calling.Err() != nil {
			return
		}
		if a.again {
			continue
		}
		c.noteLast(s, d, a)
		tries++
		absent = a.absent()
		if absent || a.failed() && tries < c.Tries && !futile[a.method] {
			c.counts.failed.Add(1)
			if tries == 1 {
				c.Logger.Warn("device service does not take a callback, trying again", "service", s.name, "event", d.seq, "error", a.String())
			}
			if !c.pause(s, wait) {
				return
			}
			wait = min(2*wait, lastRetry)
			continue
		}
		c.counts.count(a)
		if !a.accepted() {
			c.Logger.Warn("device service refuses a callback", "service", s.name, "event", d.seq, "tries", tries, "error", a.String())
		}
		futile[a.method] = a.failed()
		c.made(s, d)
		wait = firstRetry
	}
}

// next returns the call that is to be made. With absent, calls that have waited too long are given up.
func (c *Callbacks) next(s *service, absent bool) (d due, base string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return due{}, "", false
	}
	given := 0
	for absent && given < len(s.waiting) && c.Now().Sub(s.waiting[given].since) >= c.GiveUp {
		given++
	}
	if given > 0 {
		c.counts.givenUp.Add(uint64(given))
		c.Logger.Warn("callbacks given up: the device service does not answer", "service", s.name, "count", given, "after", c.GiveUp)
		s.waiting = s.waiting[given:]
		c.recordSoon()
	}
	if len(s.waiting) == 0 {
		s.waiting, s.working = nil, false
		c.forget(s)
		return due{}, "", false
	}
	return s.waiting[0], s.base, true
}

// made takes a call off the queue.
func (c *Callbacks) made(s *service, d due) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(s.waiting) > 0 && s.waiting[0].seq == d.seq {
		s.waiting = s.waiting[1:]
	}
	if s.dropped > 0 {
		c.Logger.Warn("device service takes callbacks again; some were dropped", "service", s.name, "count", s.dropped)
		s.dropped = 0
	}
	c.recordSoon()
}

// pause waits before the next try, until the service is at another address, or until Close; then it is false.
func (c *Callbacks) pause(s *service, wait time.Duration) bool {
	timer := time.NewTimer(wait/2 + rand.N(wait/2))
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
		return false
	case <-s.wake:
	case <-timer.C:
	}
	return true
}

// call makes one call; failing says that the last one failed. A call that was cut off to make room for others is made again.
func (c *Callbacks) call(name, base string, d due, failing bool) (a answer) {
	slot, ok := c.calls.Acquire(c.ctx, name, hostOf(base), failing)
	if !ok {
		return answer{err: c.ctx.Err()}
	}
	defer slot.Release()
	calling, cancel := context.WithCancel(c.calling)
	defer cancel()
	slot.MayCancel(cancel)
	err := c.History(c.calling, d.seq, d.seq, func(r domain.Recorded) error {
		q, _ := requestOf(r.Event)
		a = c.send(calling, c.Timeout, base, q, r.EventID, r.CorrelationID)
		about := r.Event.Subject()
		a.method, a.kind, a.entity = q.method, about[0], about[1]
		return nil
	})
	a.again = slot.Answered() && a.err != nil
	if err != nil && c.calling.Err() == nil {
		c.Logger.Error("event of a callback cannot be read", "service", name, "event", d.seq, "error", err)
		return answer{err: err}
	}
	return a
}

// hostOf is the host of a base address, cut where it is too long for a host.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	return host[:min(len(host), domain.MaxName)]
}
