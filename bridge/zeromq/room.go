package zeromq

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// room is the memory of the queues of all sockets. Half of it is for who needs it; the other half
// belongs to the peers in equal shares, so that a queue that is nearly empty finds some.
type room struct {
	most, share int64
	used        atomic.Int64
	none        func() // called when there is no room, without waiting

	waiting atomic.Int64 // calls of queue.await that found none
	freed   bell

	mu     sync.Mutex
	shared map[*byte]int // queues that have a long message
}

func newRoom(most, peers int, none func()) *room {
	return &room{most: int64(most), share: int64(most / 2 / peers), none: none, shared: map[*byte]int{}}
}

// take claims n bytes for a queue that has some already.
func (r *room) take(n, have int) bool {
	if r.used.Add(int64(n)) <= r.most/2 || int64(have+n) <= r.share {
		return true
	}
	r.used.Add(-int64(n))
	r.none()
	return false
}

// takeShared claims room for a message of which all queues have the same body, which must not be
// empty: it counts once.
func (r *room) takeShared(head, have int, body []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := unsafe.SliceData(body)
	n := head
	if r.shared[first] == 0 {
		n += len(body)
	} else {
		have += len(body)
	}
	if !r.take(n, have) {
		return false
	}
	r.shared[first]++
	return true
}

func (r *room) give(n int) {
	r.used.Add(-int64(n))
	if r.waiting.Load() > 0 {
		r.freed.ring()
	}
}

func (r *room) giveShared(head int, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := unsafe.SliceData(body)
	if r.shared[first]--; r.shared[first] == 0 {
		delete(r.shared, first)
		head += len(body)
	}
	r.give(head)
}

// crowded reports whether less than half of what is for all is free.
func (r *room) crowded() bool { return r.used.Load() > r.most/4 }
