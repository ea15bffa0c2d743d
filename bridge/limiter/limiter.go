// Package limiter bounds concurrent calls to the outside, so that calls to slow receivers leave room for calls to fast ones.
//
// There are three pools: for receivers that are fast or not known yet, for slow ones, and for receivers whose last call failed. The last
// two are half as large as the first, and one host has half of each at most. A receiver is slow from when a call to it takes longer than
// [Slow] until one takes less. A quarter of the first pool is for receivers that are known to be fast.
//
// A call that turns out slow moves to the pool of the slow ones at once. If that pool is full, the call stays where it is. It is cancelled
// when another call needs its place, and is then made again in the pool of the slow ones. That happens to a receiver once: then it is
// known.
package limiter

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Slow is the time from which on a call is slow.
const Slow = 500 * time.Millisecond

// mostKnown bounds the receivers whose pace is known. At the bound a random one is forgotten.
const mostKnown = 4096

// class says which pool a call uses.
type class int

const (
	fast    class = iota // the receiver's last call was not slow, and did not fail
	fresh                // the receiver is not known yet; the pool is that of fast
	slow                 // its last call was slow, or one is
	failing              // its last call failed
	classes
)

// Limiter grants slots to calls. Its methods may be called from several goroutines.
type Limiter struct {
	size [classes]int

	mu         sync.Mutex
	used       [classes]int
	hosts      map[hostClass]int // calls under way to receivers that are slow or failed
	waiting    [classes][]*Slot
	late       []*Slot         // slow calls in the pool of the fast ones, the oldest first
	cancelling int             // calls that were cancelled and have not ended
	known      map[string]bool // by receiver: whether it is slow
}

type hostClass struct {
	class
	host string
}

// New returns a Limiter whose first pool has so many slots.
func New(size int) *Limiter {
	l := &Limiter{hosts: map[hostClass]int{}, known: map[string]bool{}}
	l.size = [classes]int{fast: size, fresh: max(1, size-size/4), slow: max(1, size/2), failing: max(1, size/2)}
	return l
}

// Slot is the right to make a call.
type Slot struct {
	limiter        *Limiter
	receiver, host string
	class          class
	began          time.Time
	granted        chan struct{}
	timer          *time.Timer // until the call is slow
	ended          bool
	cancel         func() // nil if the call must not be cancelled
	cancelled      bool
}

// Acquire waits for a slot for a call to a receiver at a host. failed says that the last call failed. It returns false when ctx ends.
func (l *Limiter) Acquire(ctx context.Context, receiver, host string, failed bool) (*Slot, bool) {
	s := &Slot{limiter: l, receiver: receiver, host: host, granted: make(chan struct{})}
	l.mu.Lock()
	switch isSlow, known := l.known[receiver]; {
	case failed:
		s.class = failing
	case isSlow:
		s.class = slow
	case !known:
		s.class = fresh
	}
	l.waiting[s.class] = append(l.waiting[s.class], s)
	l.grant()
	l.mu.Unlock()
	select {
	case <-s.granted:
		return s, true
	case <-ctx.Done():
		l.giveUp(s)
		return nil, false
	}
}

// giveUp stops waiting for a slot. If the slot was granted meanwhile, it is released.
func (l *Limiter) giveUp(s *Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting[s.class], s)
	if i < 0 {
		l.release(s)
		return
	}
	l.waiting[s.class] = slices.Delete(l.waiting[s.class], i, i+1)
}

// free reports whether a call of a class to a host may begin.
func (l *Limiter) free(c class, host string) bool {
	switch {
	case l.used[c] >= l.size[c]:
		return false
	case c <= fresh:
		return l.used[fast]+l.used[fresh] < l.size[fast]
	default:
		return l.hosts[hostClass{c, host}] < max(1, l.size[c]/2)
	}
}

// grant begins the waiting calls for which there are slots, and cancels slow calls that occupy slots of the fast ones; l.mu is held.
func (l *Limiter) grant() {
	l.late = slices.DeleteFunc(l.late, l.move)
	for c := range classes {
		l.waiting[c] = slices.DeleteFunc(l.waiting[c], l.begin)
	}
	for wanted := len(l.waiting[fast]) + len(l.waiting[fresh]); l.cancelling < wanted; l.cancelling++ {
		i := slices.IndexFunc(l.late, func(s *Slot) bool { return s.cancel != nil && !s.cancelled })
		if i < 0 {
			return
		}
		l.late[i].cancelled = true
		l.late[i].cancel()
	}
}

// begin begins a call and reports true if there is a slot.
func (l *Limiter) begin(s *Slot) bool {
	if !l.free(s.class, s.host) {
		return false
	}
	l.use(s, 1)
	s.began = time.Now()
	s.timer = time.AfterFunc(Slow, func() { l.isSlow(s) })
	close(s.granted)
	return true
}

// move moves a slow call to the pool of the slow ones and reports true if there is a slot.
func (l *Limiter) move(s *Slot) bool {
	if s.cancelled || !l.free(slow, s.host) {
		return false
	}
	l.use(s, -1)
	s.class = slow
	l.use(s, 1)
	return true
}

// use counts a slot in its pool; l.mu is held.
func (l *Limiter) use(s *Slot, n int) {
	l.used[s.class] += n
	if s.class <= fresh {
		return
	}
	at := hostClass{s.class, s.host}
	if l.hosts[at] += n; l.hosts[at] == 0 {
		delete(l.hosts, at)
	}
}

// isSlow moves a call of the first pool that takes long to the pool of the slow ones.
func (l *Limiter) isSlow(s *Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.ended || s.class > fresh {
		return
	}
	l.learn(s.receiver, true)
	l.late = append(l.late, s)
	l.grant()
}

// learn notes whether a receiver is slow; l.mu is held.
func (l *Limiter) learn(receiver string, isSlow bool) {
	if _, known := l.known[receiver]; !known && len(l.known) >= mostKnown {
		for any := range l.known {
			delete(l.known, any)
			break
		}
	}
	l.known[receiver] = isSlow
}

// MayCancel says that the call can be made again, and how to cancel it. Other calls are never cancelled.
func (s *Slot) MayCancel(cancel func()) {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.cancel = cancel
}

// Answered says that the call was answered or failed, and notes whether that was slow. It reports whether the call was cancelled.
func (s *Slot) Answered() (cancelled bool) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	s.ended = true
	if s.cancel = nil; !s.cancelled {
		l.learn(s.receiver, time.Since(s.began) >= Slow)
	}
	return s.cancelled
}

// Release gives the slot back.
func (s *Slot) Release() {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.limiter.release(s)
}

// release gives a slot back; l.mu is held.
func (l *Limiter) release(s *Slot) {
	s.timer.Stop()
	s.ended = true
	if s.cancelled {
		l.cancelling--
	}
	l.late = slices.DeleteFunc(l.late, func(late *Slot) bool { return late == s })
	l.use(s, -1)
	l.grant()
}
