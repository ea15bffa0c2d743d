package callback

import (
	"context"
	"maps"
	"slices"
	"time"

	"ledge/bridge/lanes"
	"ledge/bridge/outward"
	"ledge/domain"
)

// service is a device service with the calls that wait for it.
type service struct {
	name, base string
	had        uint64          // the last event that it needed no calls for at the start
	waiting    []due           // the first is the one that the lane of the service sends
	tries      int             // of the first
	attempts   int             // tries of all calls since the start
	futile     map[string]bool // by method: the last call that failed was repeated in vain
	removed    bool
	dropped    int             // calls for which there was no room, since the last one that was made
	last       map[string]Call // by kind of entity
}

// due is a call that waits: the sequence of its event, which is read from the log again when it is made, and since when it waits.
type due struct {
	seq   uint64
	since time.Time
}

func newService(d domain.DeviceService) *service {
	return &service{name: d.Name, base: d.BaseAddress, futile: map[string]bool{}, last: map[string]Call{}}
}

// Call is the last call of a device service about entities of one kind, such as devices or provision watchers, since the start.
type Call struct {
	Kind, Entity, Method string
	Event                uint64 // that it tells of
	At                   time.Time
	Accepted             bool
	Answer               string // as much of it as clients may see, or why there is none
}

// LastCalls returns the last call of a device service for each kind of entity, and how many calls wait for the service.
func (c *Callbacks) LastCalls(service string) (calls []Call, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.services[service]; s != nil {
		return slices.Collect(maps.Values(s.last)), len(s.waiting)
	}
	return nil, 0
}

// Counts is how many callbacks ended how since the start.
type Counts struct {
	Accepted, Refused uint64 // by the device service
	Failed            uint64 // tries that failed and are repeated
	GivenUp           uint64 // because the device service did not answer for too long
	Dropped           uint64 // because too many waited
}

// Counts returns the counts so far.
func (c *Callbacks) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Queued is how many callbacks wait, those under way included, and for how many device services.
func (c *Callbacks) Queued() (callbacks, services int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.services {
		callbacks += len(s.waiting)
		services += min(1, len(s.waiting))
	}
	return callbacks, services
}

// queue has a service called because of the event at seq; c.mu is held. A service that is not there any more is not.
func (c *Callbacks) queue(name string, seq uint64) {
	s := c.services[name]
	if s == nil || seq <= s.had {
		return
	}
	if len(s.waiting) >= c.Waiting {
		if s.dropped == 0 {
			c.Logger.Warn("callbacks dropped: too many wait for the device service", "service", name, "from event", s.waiting[0].seq,
				"limit", c.Waiting)
		}
		s.drop(1)
		s.dropped++
		c.counts.Dropped++
	}
	s.waiting = append(s.waiting, due{seq, c.Now()})
	if len(s.waiting) == 1 {
		c.lanes.Add(c.item(s, 0))
	}
}

// drop takes the first calls off the queue.
func (s *service) drop(n int) { s.waiting, s.tries = s.waiting[n:], 0 }

// noLimit is of resends: [Limits].Tries and [Limits].GiveUp bound them instead.
const noLimit = 1 << 30

// item is what the lanes know of a service: its first call, which is due after a while.
func (c *Callbacks) item(s *service, after time.Duration) lanes.Item {
	host, _, _ := outward.HostAndPort(s.base)
	at := lanes.Endpoint{Server: s.name, Host: host, Target: s.name}
	return lanes.Item{ID: s.name, Endpoint: at, Tries: s.attempts, Limit: noLimit, Due: c.Now().Add(after)}
}

// attempt is one try of the first call of a service.
type attempt struct {
	*Callbacks
	service *service
	due     due
	base    string
	answer  *answer // nil if nothing was sent, because the service is paused
}

func (c *Callbacks) open(it lanes.Item) (lanes.Attempt, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.services[it.ID]
	if s == nil || len(s.waiting) == 0 {
		return nil, false
	}
	return &attempt{Callbacks: c, service: s, due: s.waiting[0], base: s.base}, true
}

// Send implements lanes.Attempt. An answer that refuses the call is not an error of the endpoint.
func (a *attempt) Send(ctx context.Context) error {
	a.answer = &answer{}
	err := a.History(ctx, a.due.seq, a.due.seq, func(r domain.Recorded) error {
		q, _ := requestOf(r.Event)
		*a.answer = a.send(ctx, a.base, q, r.EventID, r.CorrelationID)
		about := r.Event.Subject()
		a.answer.method, a.answer.kind, a.answer.entity = q.method, about[0], about[1]
		return nil
	})
	if err != nil {
		a.answer.err = err
		if ctx.Err() == nil {
			a.Logger.Error("event of a callback cannot be read", "service", a.service.name, "event", a.due.seq, "error", err)
		}
	}
	return a.answer.unreachable()
}

// The waits between two tries.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Record implements lanes.Attempt.
func (a *attempt) Record(error) (final bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, wait := a.service, time.Duration(0)
	s.attempts++
	if a.answer != nil && !s.removed {
		s.last[a.answer.kind] = Call{
			a.answer.kind, a.answer.entity, a.answer.method, a.due.seq, a.Now(), a.answer.accepted(), a.answer.String(),
		}
	}
	if len(s.waiting) > 0 && s.waiting[0] == a.due { // else it was dropped meanwhile
		wait = a.recordFirst(s)
	}
	if len(s.waiting) == 0 {
		s.waiting = nil
		a.lanes.End(s.name, s.name)
		a.forget(s)
		return true
	}
	a.lanes.Add(a.item(s, wait))
	return false
}

// recordFirst takes the first call of a service off the queue, or returns how long to wait for the next try. EdgeX's SDK answers 500 if it
// has a device already, so after a call was repeated in vain the next of its kind is not, until one goes well: a service that has fetched a
// thousand devices by itself is through with the calls for them at once. c.mu is held.
func (a *attempt) recordFirst(s *service) (wait time.Duration) {
	if a.answer == nil { // nothing was sent; the end of the pause brings the next try forward
		a.giveUp(s)
		return lastRetry
	}
	s.tries++
	absent := a.answer.absent()
	if absent || a.answer.failed() && s.tries < a.Tries && !s.futile[a.answer.method] {
		a.counts.Failed++
		if s.tries == 1 {
			a.Logger.Warn("device service does not take a callback, trying again", "service", s.name, "event", a.due.seq, "error", a.answer.String())
		}
		wait = lanes.BackOff(firstRetry, s.tries-1, lastRetry)
		if absent {
			a.giveUp(s)
		}
		return wait
	}
	if a.answer.accepted() {
		a.counts.Accepted++
	} else {
		a.counts.Refused++
		a.Logger.Warn("device service refuses a callback", "service", s.name, "event", a.due.seq, "tries", s.tries, "error", a.answer.String())
	}
	s.futile[a.answer.method] = a.answer.failed()
	s.drop(1)
	a.position.moved = true
	if s.dropped > 0 {
		a.Logger.Warn("device service takes callbacks again; some were dropped", "service", s.name, "count", s.dropped)
		s.dropped = 0
	}
	return 0
}

// giveUp takes calls off the queue that have waited too long for a service that does not answer; c.mu is held.
func (c *Callbacks) giveUp(s *service) {
	given := 0
	for given < len(s.waiting) && c.Now().Sub(s.waiting[given].since) >= c.GiveUp {
		given++
	}
	if given == 0 {
		return
	}
	s.drop(given)
	c.counts.GivenUp += uint64(given)
	c.Logger.Warn("callbacks given up: the device service does not answer", "service", s.name, "count", given, "after", c.GiveUp)
	c.position.moved = true
}
