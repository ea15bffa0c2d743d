package projections

import (
	"context"
	"sync"
)

// progress is the checkpoint as this process knows it, and who waits for it to move.
type progress struct {
	mu      sync.Mutex
	here    checkpoint
	changed chan struct{} // closed and forgotten when the checkpoint moves; nil while nobody waits
	over    bool
}

func (p *progress) at() checkpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.here
}

func (p *progress) move(to checkpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.here = to
	p.wake()
}

// finish wakes all who wait, for good.
func (p *progress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.wake()
}

func (p *progress) wake() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Wait returns when the checkpoint has reached seq, with ctx's error when ctx ends before, or with [ErrClosed].
func (p *progress) Wait(ctx context.Context, seq uint64) error {
	for {
		moved, err := p.reached(seq)
		if moved == nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reached returns nil where there is nothing to wait for, else a channel that is closed at the next move.
func (p *progress) reached(seq uint64) (<-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.here.seq >= seq {
		return nil, nil
	}
	if p.over {
		return nil, ErrClosed
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed, nil
}
