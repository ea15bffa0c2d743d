package store

import (
	"context"
	"sync"

	"ledge/domain"
)

// submission is what one call of Submit brought: its requests are taken in order, by one group or by several.
type submission struct {
	ctx      context.Context
	requests []domain.Request
	outcomes []domain.Outcome
	taken    int // requests that a group has taken
	answered int
	bytes    int
	written  int           // bytes of the log
	done     chan struct{} // closed when every request has its outcome
}

// queue is the submissions that wait, bounded in requests and in bytes. One that is larger than the bounds by itself
// waits for an empty queue.
type queue struct {
	maxRequests, maxBytes int

	mu       sync.Mutex
	waiting  []*submission
	requests int
	bytes    int
	closed   error
	room     chan struct{} // closed when there is more room; nil where nobody waits for it
	filled   chan struct{} // holds one token where something waits
}

// requestOverhead is what a waiting request takes in memory beside its Bytes: stamp, outcome and places in lists. An estimate.
const requestOverhead = 512

func newQueue(maxRequests, maxBytes int) *queue {
	return &queue{maxRequests: maxRequests, maxBytes: maxBytes, filled: make(chan struct{}, 1)}
}

// put adds a submission and waits for room while ctx lasts.
func (q *queue) put(ctx context.Context, s *submission) error {
	for {
		room, err := q.tryPut(s)
		if err != nil || room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return domain.Errorf(domain.Unavailable, "too many changes wait to be recorded; try again later")
		}
	}
}

// tryPut returns a channel to wait on where there is no room.
func (q *queue) tryPut(s *submission) (<-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return nil, q.closed
	}
	full := q.requests+len(s.requests) > q.maxRequests || q.bytes+s.bytes > q.maxBytes
	if full && len(q.waiting) > 0 {
		if q.room == nil {
			q.room = make(chan struct{})
		}
		return q.room, nil
	}
	q.waiting = append(q.waiting, s)
	q.requests += len(s.requests)
	q.bytes += s.bytes
	q.signal()
	return nil, nil
}

func (q *queue) signal() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// withdraw takes a submission back of which nothing was taken yet.
func (q *queue) withdraw(s *submission) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.taken > 0 {
		return false
	}
	for i, w := range q.waiting {
		if w == s {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			q.release(s)
			return true
		}
	}
	return false
}

// release is called with the lock held, when a submission leaves.
func (q *queue) release(s *submission) {
	q.requests -= len(s.requests)
	q.bytes -= s.bytes
	q.look()
}

// look has those who wait for room look again. It is called with the lock held.
func (q *queue) look() {
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

// item is one request of a submission.
type item struct {
	of *submission
	n  int
}

// take returns up to most requests in order of arrival.
func (q *queue) take(most int) []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	var items []item
	for len(q.waiting) > 0 && len(items) < most {
		s := q.waiting[0]
		for s.taken < len(s.requests) && len(items) < most {
			items = append(items, item{s, s.taken})
			s.taken++
		}
		if s.taken == len(s.requests) {
			q.waiting[0] = nil
			q.waiting = q.waiting[1:]
			q.release(s)
		}
	}
	if len(q.waiting) > 0 {
		q.signal()
	}
	return items
}

// close refuses what comes from now on. What waits is still taken.
func (q *queue) close(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = why
	}
	q.look()
	q.signal()
}

// length is how many submissions wait, one of which a part is taken included.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
