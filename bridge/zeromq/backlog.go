package zeromq

import (
	"runtime"
	"sync"
	"time"
)

// backlog bounds zmq4's own queue, which lies between Publish and the subscribers' queues and
// has no limit in bytes. It fills only while there is not enough processor time, since the
// other end never waits for the network.
type backlog struct {
	maxMessages, maxBytes int

	mu       sync.Mutex
	messages int
	bytes    int
	waiting  int
	room     chan struct{} // closed, and replaced, when those who wait should look again
}

func newBacklog(maxMessages, maxBytes int) *backlog {
	return &backlog{maxMessages: maxMessages, maxBytes: maxBytes, room: make(chan struct{})}
}

// reserve claims room for one message of n bytes. It waits at most the given time, and not
// beyond the close of stop; it reports whether the room is claimed.
func (b *backlog) reserve(n int, wait time.Duration, stop <-chan struct{}) bool {
	if _, ok := b.try(n); ok {
		return true
	}
	b.addWaiting(1)
	defer b.addWaiting(-1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		room, ok := b.try(n)
		if ok {
			return true
		}
		select {
		case <-room:
		case <-timer.C:
			return false
		case <-stop:
			return false
		}
	}
}

// try claims room, or returns the channel that says when to try again.
func (b *backlog) try(n int) (<-chan struct{}, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.messages > 0 && (b.messages >= b.maxMessages || b.bytes+n > b.maxBytes) {
		return b.room, false
	}
	b.messages++
	b.bytes += n
	return nil, true
}

func (b *backlog) addWaiting(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting += n
}

// release gives back the room of one message. Who waits is woken at half full, so that a busy
// publisher and zmq4 take turns in long runs.
func (b *backlog) release(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.messages--
	b.bytes -= n
	if b.waiting > 0 && b.messages <= b.maxMessages/2 && b.bytes <= b.maxBytes/2 {
		close(b.room)
		b.room = make(chan struct{})
	}
}

// meter is the sink of the first connection of each zmq4 socket. No subscriber is behind it: it
// sees every message that leaves zmq4's queue, which is how the backlog is known.
type meter struct {
	backlog   *backlog
	audiences *audiences
	audience  uint64        // of the message that is going to the queues
	fenced    chan struct{} // closed once the fence has come through
}

// wants is called before the message goes to the subscribers, hence after the one before has.
func (m *meter) wants(audience uint64, _ []byte) bool {
	m.audiences.delivered(m.audience)
	m.audience = audience
	return false
}

// message ends zmq4's writer at the fence, a message of a single frame that follows everything
// published. zmq4 offers no other way: its writer waits for messages for ever, even after Close.
// Its mutex is unlocked by a deferred call, which Goexit runs.
func (m *meter) message(msg message) {
	if msg.frames == 1 {
		close(m.fenced)
		runtime.Goexit()
	}
	m.backlog.release(msg.bytes)
}
