// Package quota shares an amount, such as bytes of memory, between clients.
package quota

import (
	"context"
	"slices"
	"sync"

	"ledge/domain"
)

// Quota is an amount that clients share, such as bytes of memory. A client may have three times what then stays free
// ([domain.Share]). A client that has nothing may take all that is free.
type Quota struct {
	total int64

	mu      sync.Mutex
	free    int64
	held    map[string]int64 // by client, without those that hold nothing
	waiting []*waiter        // in the order in which they came
}

// waiter is a client that waits for n.
type waiter struct {
	client string
	n      int64
	taken  chan struct{}
}

// New returns a quota of which all is free.
func New(total int64) *Quota {
	return &Quota{total: total, free: total, held: map[string]int64{}}
}

// Most is how much a client may have while no other client has anything.
func (q *Quota) Most() int64 { return domain.Share(0, q.total) }

// fits is called with the lock held.
func (q *Quota) fits(client string, n int64) bool {
	held := q.held[client]
	return n <= q.free && (held == 0 || held+n <= domain.Share(held, q.free))
}

// Fits reports whether a client could take n now.
func (q *Quota) Fits(client string, n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fits(client, n)
}

// Take takes n for a client, if that is possible now.
func (q *Quota) Take(client string, n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.fits(client, n) {
		return false
	}
	q.take(client, n)
	return true
}

func (q *Quota) take(client string, n int64) {
	if n > 0 {
		q.free -= n
		q.held[client] += n
	}
}

// Wait takes n for a client as soon as that is possible, or returns the error of ctx. Clients are served in their order, but
// nobody waits for a client that waits for a share of its own.
func (q *Quota) Wait(ctx context.Context, client string, n int64) error {
	w := &waiter{client, n, make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	q.serve()
	q.mu.Unlock()
	select {
	case <-w.taken:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.taken: // just now
		return nil
	default:
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(other *waiter) bool { return other == w })
	q.serve() // whoever waited behind it
	return ctx.Err()
}

// Give gives back n that a client has.
func (q *Quota) Give(client string, n int64) {
	if n <= 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free += n
	if q.held[client] -= n; q.held[client] <= 0 {
		delete(q.held, client)
	}
	if len(q.waiting) > 0 {
		q.serve()
	}
}

// serve lets those go on who wait for what is free now. One who needs more than is free keeps its place before those behind it.
func (q *Quota) serve() {
	var passed []string // clients that have their share
	for i := 0; i < len(q.waiting); {
		w := q.waiting[i]
		switch {
		case slices.Contains(passed, w.client):
			i++
		case q.fits(w.client, w.n):
			q.take(w.client, w.n)
			close(w.taken)
			q.waiting = slices.Delete(q.waiting, i, i+1)
		case w.n > q.free && q.held[w.client] == 0:
			return
		default:
			passed = append(passed, w.client)
			i++
		}
	}
}
