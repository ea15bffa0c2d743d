package delivery

import (
	"slices"
	"time"

	"ledge/bridge/outward"
	"ledge/domain"
)

// server is the other end of the connections to some targets. All of it is guarded by Delivery.mu.
type server struct {
	name, host string
	targets    map[string]*target
	gate       gate
	window     window
	busy       int       // sends under way, without probes
	waiting    []*target // for a place in the window, the first one first
}

// server returns the server of a channel.
func (d *Delivery) server(c domain.Channel) *server {
	name := c.Endpoint()
	s := d.servers[name]
	if s == nil {
		s = &server{name: name, host: c.Host, targets: map[string]*target{}, window: newWindow(d.AtOnce)}
		d.servers[name] = s
	}
	return s
}

// place reports whether a target may send. If not, the target waits for its turn among the targets of the server. A quarter of the window
// is left for other targets.
func (s *server) place(t *target) bool {
	size := s.window.sends()
	before := slices.Index(s.waiting, t)
	if before < 0 {
		before = len(s.waiting)
		s.waiting = append(s.waiting, t)
	}
	if t.busy >= max(1, size-size/4) || size-s.busy <= before {
		return false
	}
	s.waiting = slices.Delete(s.waiting, before, before+1)
	return true
}

// leave takes a target out of the queue for a place.
func (s *server) leave(t *target) {
	if i := slices.Index(s.waiting, t); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
}

// result is what a send says.
type result struct {
	err                 error
	answered, permanent bool
	after               time.Duration // how long the receiver wants to be left alone
}

func resultOf(err error) result {
	return result{err, outward.Answered(err), outward.Permanent(err), outward.RetryAfter(err)}
}

// ended notes what a send says of the server and its target. Where the send does not count as a try, it is made again.
func (d *Delivery) ended(t *target, it *item, r result, again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, now := t.server, d.Now()
	was, target := s.gate.paused(), t.gate.paused()
	switch {
	case r.err == nil:
		s.window.succeeded(d.AtOnce)
		d.answered(s, now)
		if t.gate.ok(now) {
			d.Logger.Info(takes, "endpoint", t.shown())
			t.hasten(now)
		}
	case r.answered:
		d.answered(s, now)
		if reason := outward.Cut(r.err.Error()); !r.permanent && t.gate.refused(now, reason, r.after, d.LongestPause) {
			d.Logger.Warn(takesNot, "endpoint", t.shown(), "pause", t.gate.pause, "error", reason)
		}
	case !r.permanent:
		s.window.failed()
		if reason := outward.Cut(r.err.Error()); s.gate.broken(now, reason, d.LongestPause) {
			d.Logger.Warn(takesNot, "endpoint", s.name, "pause", s.gate.pause, "error", reason)
		}
	}
	if it.probe {
		s.gate.unanswered(now, d.LongestPause)
		t.gate.unanswered(now, d.LongestPause)
	}
	if again {
		t.again(it)
	}
	d.free(t, it)
	if was != s.gate.paused() || target != t.gate.paused() {
		for _, one := range s.targets {
			d.look(one)
		}
	}
}

// The log has a line when a pause begins and when it ends.
const (
	takesNot = "endpoint takes no notifications, and is left alone for a while"
	takes    = "endpoint takes notifications again"
)

// answered notes that the server is there, which ends its pause: what waited for that is tried now.
func (d *Delivery) answered(s *server, now time.Time) {
	if !s.gate.ok(now) {
		return
	}
	d.Logger.Info(takes, "endpoint", s.name)
	for _, t := range s.targets {
		t.hasten(now)
	}
}

// free gives the place of a send back. The targets that wait longest may have it.
func (d *Delivery) free(t *target, it *item) {
	s := t.server
	t.busy--
	if it.probe {
		it.probe, s.gate.probing, t.gate.probing = false, false, false
	} else {
		s.busy--
	}
	for i := range min(len(s.waiting), max(1, s.window.sends()-s.busy)) {
		d.look(s.waiting[i])
	}
	d.look(t)
}
