package store

import (
	"cmp"
	"context"
	"iter"
	"sort"
	"sync"

	"ledge/domain"
)

// recent has the last events in memory, for followers that keep up.
type recent[T any] struct {
	maxEvents, maxBytes int
	seq                 func(*T) uint64

	mu     sync.Mutex
	groups [][]T
	sizes  []int // bytes of each group
	events int
	bytes  int
	last   uint64
	more   chan struct{} // closed and replaced when a group is added
	ended  bool
}

func newRecent[T any](last uint64, maxEvents, maxBytes int, seq func(*T) uint64) *recent[T] {
	return &recent[T]{maxEvents: maxEvents, maxBytes: maxBytes, seq: seq, last: last, more: make(chan struct{})}
}

// add takes a group and its bytes on the log, which is about what it takes in memory.
func (r *recent[T]) add(group []T, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups, r.sizes = append(r.groups, group), append(r.sizes, bytes)
	r.events += len(group)
	r.bytes += bytes
	for len(r.groups) > 0 && (r.events > r.maxEvents || r.bytes > r.maxBytes) {
		r.events -= len(r.groups[0])
		r.bytes -= r.sizes[0]
		r.groups[0] = nil
		r.groups, r.sizes = r.groups[1:], r.sizes[1:]
	}
	r.wake(r.seq(&group[len(group)-1]))
}

// skip drops all events: those up to a sequence are on the log only.
func (r *recent[T]) skip(last uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups, r.sizes, r.events, r.bytes = nil, nil, 0, 0
	r.wake(last)
}

// wake sets the last sequence and wakes all followers. The lock is held.
func (r *recent[T]) wake(last uint64) {
	r.last = last
	close(r.more)
	r.more = make(chan struct{})
}

func (r *recent[T]) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.wake(r.last)
}

// from returns the group at seq, from there on, where it is in memory; behind is the last sequence to be read from the log
// where it is not any more; more is closed when there is something new.
func (r *recent[T]) from(seq uint64) (group []T, behind uint64, more <-chan struct{}, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq > r.last {
		return nil, 0, r.more, r.ended
	}
	if len(r.groups) == 0 || seq < r.seq(&r.groups[0][0]) {
		return nil, r.last, r.more, r.ended
	}
	at := sort.Search(len(r.groups), func(i int) bool { return r.seq(&r.groups[i][len(r.groups[i])-1]) >= seq })
	group = r.groups[at]
	i := sort.Search(len(group), func(i int) bool { return r.seq(&group[i]) >= seq })
	return group[i:], 0, r.more, r.ended
}

// Follow calls f with every recorded event from a sequence on, in order, in groups: what is on the log first, then each
// group at once when it is recorded and applied. It returns when ctx ends, when f fails, when the log cannot be read, or,
// with domain.Unavailable, when the appender closes. f must not change or keep the slice.
func (a *Appender) Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error {
	return follow(ctx, a.recent, from, f, func(from, to uint64) iter.Seq2[[]domain.Recorded, error] { return a.log.groups(ctx, from, to) })
}

// follow calls f with each group from a sequence on. onLog reads older groups.
func follow[T any](ctx context.Context, r *recent[T], from uint64, f func([]T) error, onLog func(from, to uint64) iter.Seq2[[]T, error]) error {
	next := max(from, 1)
	take := func(group []T) error {
		if len(group) == 0 {
			return nil
		}
		next = r.seq(&group[len(group)-1]) + 1
		return f(group)
	}
	for ctx.Err() == nil {
		group, behind, more, ended := r.from(next)
		switch {
		case behind > 0:
			for group, err := range onLog(next, behind) {
				if err := cmp.Or(take(group), err); err != nil {
					return err
				}
			}
			next = max(next, behind+1) // the rest is gone for reasons of age
		case len(group) > 0:
			if err := take(group); err != nil {
				return err
			}
		case ended:
			return domain.Errorf(domain.Unavailable, "ledge is stopping")
		default:
			select {
			case <-more:
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}
