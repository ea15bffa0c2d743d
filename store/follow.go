package store

import (
	"context"
	"sort"
	"sync"

	"ledge/domain"
)

// recent is the last recorded events, in memory, for followers that keep up.
type recent struct {
	maxEvents, maxBytes int

	mu     sync.Mutex
	groups [][]domain.Recorded
	sizes  []int // bytes of each group
	events int
	bytes  int
	last   uint64
	more   chan struct{} // closed and replaced when a group is added
	ended  bool
}

func newRecent(last uint64, maxEvents, maxBytes int) *recent {
	return &recent{maxEvents: maxEvents, maxBytes: maxBytes, last: last, more: make(chan struct{})}
}

// add takes a group and its bytes on the log, which is about what it takes in memory.
func (r *recent) add(group []domain.Recorded, bytes int) {
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
	r.last = group[len(group)-1].Seq
	close(r.more)
	r.more = make(chan struct{})
}

func (r *recent) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	close(r.more)
	r.more = make(chan struct{})
}

// from returns the group at seq, from there on, where it is in memory; behind is the last sequence to be read from the log
// where it is not any more; more is closed when there is something new.
func (r *recent) from(seq uint64) (group []domain.Recorded, behind uint64, more <-chan struct{}, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq > r.last {
		return nil, 0, r.more, r.ended
	}
	if len(r.groups) == 0 || seq < r.groups[0][0].Seq {
		return nil, r.last, r.more, r.ended
	}
	at := sort.Search(len(r.groups), func(i int) bool { return r.groups[i][len(r.groups[i])-1].Seq >= seq })
	group = r.groups[at]
	i := sort.Search(len(group), func(i int) bool { return group[i].Seq >= seq })
	return group[i:], 0, r.more, r.ended
}

// Follow calls f with every recorded event from a sequence on, in order, in groups: what is on the log first, then each
// group at once when it is recorded and applied. It returns when ctx ends, when f fails, when the log cannot be read, or,
// with domain.Unavailable, when the appender closes. f must not change or keep the slice.
func (a *Appender) Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error {
	next := max(from, 1)
	for ctx.Err() == nil {
		group, behind, more, ended := a.recent.from(next)
		switch {
		case behind > 0:
			if err := a.history(ctx, &next, behind, f); err != nil {
				return err
			}
		case len(group) > 0:
			if err := f(group); err != nil {
				return err
			}
			next = group[len(group)-1].Seq + 1
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

func (a *Appender) history(ctx context.Context, next *uint64, to uint64, f func([]domain.Recorded) error) error {
	for g, err := range a.log.groups(ctx, *next, to) {
		if len(g) > 0 {
			if err := f(g); err != nil {
				return err
			}
			*next = g[len(g)-1].Seq + 1
		}
		if err != nil {
			return err
		}
	}
	*next = max(*next, to+1) // the rest is gone for reasons of age
	return nil
}
