package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Slow is the time from which on a call is slow.
const Slow = 500 * time.Millisecond

// mostKnown is of how many receivers the pace is known; of more, any is forgotten.
const mostKnown = 4096

// class is what share a call takes.
type class int

const (
	fast    class = iota // the receiver's last call was not slow, and did not fail
	fresh                // nothing is known of the receiver; it shares with fast
	slow                 // its last call was slow, or one is
	failing              // its last call failed
	classes
)

// Turns are the calls under way and those that wait. Its methods may be called from several goroutines.
type Turns struct {
	size [classes]int

	mu      sync.Mutex
	used    [classes]int
	hosts   map[place]int // calls under way to receivers that are slow or failed
	waiting [classes][]*Turn
	late    []*Turn         // slow calls in the share of the fast ones, the oldest first
	cutting int             // calls that were cut off and have not ended
	known   map[string]bool // by receiver: whether it is slow
}

// place is a host in a class.
type place struct {
	class
	host string
}

// New returns Turns with a first share of so many calls.
func New(size int) *Turns {
	t := &Turns{hosts: map[place]int{}, known: map[string]bool{}}
	t.size = [classes]int{fast: size, fresh: max(1, size-size/4), slow: max(1, size/2), failing: max(1, size/2)}
	return t
}

// Turn is the right to make a call.
type Turn struct {
	turns          *Turns
	receiver, host string
	class          class
	began          time.Time
	granted        chan struct{}
	timer          *time.Timer // until the call is slow
	cut            func()      // ends the call, which can be made again; nil where it cannot
	isCut          bool
}

// Take waits for the turn of a call to a receiver at a host; failed says that the last one failed. False says that ctx has ended.
func (t *Turns) Take(ctx context.Context, receiver, host string, failed bool) (*Turn, bool) {
	turn := &Turn{turns: t, receiver: receiver, host: host, granted: make(chan struct{})}
	t.mu.Lock()
	turn.class = t.classOf(receiver, failed)
	t.waiting[turn.class] = append(t.waiting[turn.class], turn)
	t.grant()
	t.mu.Unlock()
	select {
	case <-turn.granted:
		return turn, true
	case <-ctx.Done():
		t.leave(turn)
		return nil, false
	}
}

func (t *Turns) classOf(receiver string, failed bool) class {
	isSlow, known := t.known[receiver]
	switch {
	case failed:
		return failing
	case !known:
		return fresh
	case isSlow:
		return slow
	default:
		return fast
	}
}

// leave gives up a turn that was not granted, or gives it back where it was meanwhile.
func (t *Turns) leave(turn *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-turn.granted:
		t.release(turn)
		return
	default:
	}
	t.waiting[turn.class] = slices.DeleteFunc(t.waiting[turn.class], func(w *Turn) bool { return w == turn })
}

// free reports whether a call of a class to a host may begin.
func (t *Turns) free(c class, host string) bool {
	switch {
	case t.used[c] >= t.size[c]:
		return false
	case c.first():
		return t.used[fast]+t.used[fresh] < t.size[fast]
	default:
		return t.hosts[place{c, host}] < max(1, t.size[c]/2)
	}
}

// first reports whether calls of a class have the first share.
func (c class) first() bool { return c == fast || c == fresh }

// grant begins the calls for which there is room, and cuts slow ones off for those for which there is none; t.mu is held.
func (t *Turns) grant() {
	t.late = slices.DeleteFunc(t.late, t.moved)
	for c := range classes {
		t.waiting[c] = slices.DeleteFunc(t.waiting[c], t.begun)
	}
	for wanted := len(t.waiting[fast]) + len(t.waiting[fresh]); t.cutting < wanted; t.cutting++ {
		i := slices.IndexFunc(t.late, func(turn *Turn) bool { return turn.cut != nil && !turn.isCut })
		if i < 0 {
			return
		}
		t.late[i].isCut = true
		t.late[i].cut()
	}
}

// begun begins a call if there is room for it.
func (t *Turns) begun(turn *Turn) bool {
	if !t.free(turn.class, turn.host) {
		return false
	}
	t.use(turn, 1)
	turn.began = time.Now()
	if turn.class.first() {
		turn.timer = time.AfterFunc(Slow, func() { t.isSlow(turn) })
	}
	close(turn.granted)
	return true
}

// moved moves a slow call to the share of the slow ones if there is room for it.
func (t *Turns) moved(turn *Turn) bool {
	if turn.isCut || !t.free(slow, turn.host) {
		return false
	}
	t.use(turn, -1)
	turn.class = slow
	t.use(turn, 1)
	return true
}

// use counts a turn in its class; t.mu is held.
func (t *Turns) use(turn *Turn, n int) {
	t.used[turn.class] += n
	if turn.class.first() {
		return
	}
	at := place{turn.class, turn.host}
	if t.hosts[at] += n; t.hosts[at] == 0 {
		delete(t.hosts, at)
	}
}

// isSlow moves a call that is under way for long to the share of the slow ones.
func (t *Turns) isSlow(turn *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn.timer == nil { // it has ended
		return
	}
	turn.timer = nil
	t.learn(turn.receiver, true)
	t.late = append(t.late, turn)
	t.grant()
}

// learn notes whether a receiver is slow; t.mu is held.
func (t *Turns) learn(receiver string, isSlow bool) {
	if _, known := t.known[receiver]; !known && len(t.known) >= mostKnown {
		for any := range t.known {
			delete(t.known, any)
			break
		}
	}
	t.known[receiver] = isSlow
}

// MayCut says that a call can be made again, and how it is ended. Others are never cut off.
func (u *Turn) MayCut(end func()) {
	u.turns.mu.Lock()
	defer u.turns.mu.Unlock()
	u.cut = end
}

// Answered says that the call has its answer, or failed, and notes whether that was slow. It reports whether the call was cut off.
func (u *Turn) Answered() (cut bool) {
	u.turns.mu.Lock()
	defer u.turns.mu.Unlock()
	u.stop()
	if u.cut = nil; !u.isCut {
		u.turns.learn(u.receiver, time.Since(u.began) >= Slow)
	}
	return u.isCut
}

// End gives the turn back.
func (u *Turn) End() {
	u.turns.mu.Lock()
	defer u.turns.mu.Unlock()
	u.turns.release(u)
}

// stop ends the wait for the call to be slow; the lock is held.
func (u *Turn) stop() {
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
}

// release gives a turn back; t.mu is held.
func (t *Turns) release(turn *Turn) {
	turn.stop()
	if turn.isCut {
		t.cutting--
	}
	t.late = slices.DeleteFunc(t.late, func(late *Turn) bool { return late == turn })
	t.use(turn, -1)
	t.grant()
}
