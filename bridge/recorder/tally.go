package recorder

import (
	"context"
	"sync"
)

// Tally counts what has begun and what has ended, where that is in the same order. Its zero value is ready.
type Tally struct {
	mu           sync.Mutex
	begun, ended uint64
	moved        chan struct{} // nil where nobody waits
}

// Begin counts one that begins.
func (t *Tally) Begin() { t.begin(1) }

func (t *Tally) begin(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun += uint64(n)
}

// End counts n that have ended.
func (t *Tally) End(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended += uint64(n)
	if t.moved != nil {
		close(t.moved)
		t.moved = nil
	}
}

// Wait returns when all that had begun before the call has ended; the error is that of ctx.
func (t *Tally) Wait(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for target := t.begun; t.ended < target; {
		if t.moved == nil {
			t.moved = make(chan struct{})
		}
		moved := t.moved
		t.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
