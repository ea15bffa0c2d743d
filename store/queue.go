package store

import (
	"context"
	"slices"
	"sync"

	"ledge/domain"

	"golang.org/x/sync/semaphore"
)

// submission holds the requests of one call of Submit. They are taken in order, by one group or by several.
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

// queue is the submissions that wait, bounded in requests and in bytes. A submission that is larger than a bound takes all of it, and so
// waits for an empty queue. Submissions that wait for room are let in in the order in which they came.
type queue struct {
	maxRequests, maxBytes int64
	requests, bytes       *semaphore.Weighted

	closed context.Context // its cause is why the queue takes no more
	end    context.CancelCauseFunc
	filled chan struct{} // holds one token while something waits

	mu      sync.Mutex
	waiting []*submission
}

func newQueue(maxRequests, maxBytes int) *queue {
	q := &queue{maxRequests: int64(maxRequests), maxBytes: int64(maxBytes), filled: make(chan struct{}, 1)}
	q.requests, q.bytes = semaphore.NewWeighted(q.maxRequests), semaphore.NewWeighted(q.maxBytes)
	q.closed, q.end = context.WithCancelCause(context.Background())
	return q
}

// put adds a submission. It waits for room until the submission's context ends.
func (q *queue) put(s *submission) error {
	requests, bytes := q.share(s)
	if err := q.acquire(s.ctx, q.requests, requests); err != nil {
		return err
	}
	if err := q.acquire(s.ctx, q.bytes, bytes); err != nil {
		q.requests.Release(requests)
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Err() != nil {
		q.release(s)
		return context.Cause(q.closed)
	}
	q.waiting = append(q.waiting, s)
	q.signal()
	return nil
}

// share is what a submission takes of the two bounds.
func (q *queue) share(s *submission) (requests, bytes int64) {
	return min(int64(len(s.requests)), q.maxRequests), min(int64(s.bytes), q.maxBytes)
}

func (q *queue) release(s *submission) {
	requests, bytes := q.share(s)
	q.requests.Release(requests)
	q.bytes.Release(bytes)
}

func (q *queue) acquire(ctx context.Context, room *semaphore.Weighted, n int64) error {
	if room.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.closed, cancel)()
	if room.Acquire(ctx, n) == nil {
		return nil
	}
	if q.closed.Err() != nil {
		return context.Cause(q.closed)
	}
	return domain.Errorf(domain.Unavailable, "too many changes wait to be recorded; try again later")
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
	i := slices.Index(q.waiting, s)
	if i < 0 || s.taken > 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.release(s)
	return true
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
	q.end(why)
}

// length is how many submissions wait, one of which a part is taken included.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
