package lanes

import (
	"slices"
	"time"

	"ledge/bridge/outward"
	"ledge/domain"
)

// server is the other end of the connections to some targets. All of it is guarded by Lanes.mu.
type server struct {
	name, host string
	targets    map[string]*target
	breaker    breaker // for connections that fail
	window     window
	busy       int       // sends under way, without probes
	waiting    []*target // for a place in the window, the first one first
}

// admits reports whether a target may send. If not, the target waits in a queue of the server's targets. A quarter of the window is left
// for other targets.
func (s *server) admits(t *target) bool {
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
	s.waiting = slices.DeleteFunc(s.waiting, func(w *target) bool { return w == t })
}

// ended notes what a send says of the server and its target. If the send does not count as a try, it is made again.
func (l *Lanes) ended(t *target, it *item, err error, probe, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, now := t.server, l.Now()
	takesNo := "endpoint takes no " + l.Of + ", and is left alone for a while"
	serverPaused, targetPaused := s.breaker.paused(), t.breaker.paused()
	switch answered, permanent := outward.Answered(err), outward.Permanent(err); {
	case err == nil:
		s.window.succeeded(l.AtOnce)
		l.answered(s, now)
		if t.breaker.ok(now) {
			l.Logger.Info("endpoint takes "+l.Of+" again", "endpoint", domain.ShownTarget(t.Target))
			t.hasten(now)
		}
	case answered:
		l.answered(s, now)
		reason := outward.Cut(err.Error())
		if !permanent && t.breaker.refused(now, reason, outward.RetryAfter(err), l.LongestPause) {
			l.Logger.Warn(takesNo, "endpoint", domain.ShownTarget(t.Target), "pause", t.breaker.pause, "error", reason)
		}
	case !permanent:
		s.window.failed()
		if reason := outward.Cut(err.Error()); s.breaker.broken(now, reason, l.LongestPause) {
			l.Logger.Warn(takesNo, "endpoint", s.name, "pause", s.breaker.pause, "error", reason)
		}
	}
	if probe {
		s.breaker.unanswered(now, l.LongestPause)
		t.breaker.unanswered(now, l.LongestPause)
	}
	if again {
		t.again(it)
	}
	l.free(t, probe)
	if serverPaused != s.breaker.paused() || targetPaused != t.breaker.paused() {
		for _, one := range s.targets {
			l.wake(one)
		}
	}
}

// answered notes that the server is there. That ends its pause: what waited for that is tried now.
func (l *Lanes) answered(s *server, now time.Time) {
	if !s.breaker.ok(now) {
		return
	}
	l.Logger.Info("endpoint takes "+l.Of+" again", "endpoint", s.name)
	for _, t := range s.targets {
		t.hasten(now)
	}
}

// free gives the place of a send back. The targets that wait longest may have it.
func (l *Lanes) free(t *target, probe bool) {
	s := t.server
	t.busy--
	if probe {
		s.breaker.probing, t.breaker.probing = false, false
	} else {
		s.busy--
	}
	for i := range min(len(s.waiting), max(1, s.window.sends()-s.busy)) {
		l.wake(s.waiting[i])
	}
	l.wake(t)
}

// window is how many sends may be under way to a server. It begins with one, doubles with each round of successes up to half of what failed
// last, then grows by one with each round. A failure halves it. TCP's congestion window does the same.
type window struct{ size, threshold float64 }

func newWindow(most int) window { return window{1, float64(most)} }

func (w *window) sends() int { return int(w.size) }

func (w *window) succeeded(most int) {
	if w.size < w.threshold {
		w.size++
	} else {
		w.size += 1 / w.size
	}
	w.size = min(w.size, float64(most))
}

func (w *window) failed() {
	w.size = max(1, w.size/2)
	w.threshold = w.size
}
