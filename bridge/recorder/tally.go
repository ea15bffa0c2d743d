package recorder

import (
	"context"
	"sync"
)

// Tally counts what has begun and what has ended, if that is in the same order.
type Tally struct {
	mu           sync.Mutex
	moved        sync.Cond
	begun, ended uint64
}

// Begin counts one that begins.
func (t *Tally) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun++
}

// End counts n that have ended.
func (t *Tally) End(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended += uint64(n)
	t.moved.Broadcast()
}

// Wait returns when all that had begun before the call has ended; the error is that of ctx.
func (t *Tally) Wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { t.End(0) })()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.moved.L == nil {
		t.moved.L = &t.mu
	}
	for target := t.begun; t.ended < target; t.moved.Wait() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
