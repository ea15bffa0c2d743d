// Package answers bounds the memory of answers. All answers of a service have a [Shared] for large entities and values, one answer has a
// [Memory] of it, and an [Output] sends the answer in parts.
package answers

import (
	"context"
	"net/http"
	"sync"
	"time"

	"ledge/domain"
	"ledge/handlers/connections"
	"ledge/handlers/quota"
)

// Shared is the memory for large entities and values, which all answers of a service share.
type Shared struct {
	quota   *quota.Quota
	most    int64
	timeout time.Duration
}

// New returns most bytes of memory. An answer waits for it no longer than timeout.
func New(most int64, timeout time.Duration) *Shared {
	return &Shared{quota.New(most), most, timeout}
}

// Of returns the memory of an answer to a request. The answer holds nothing yet.
func (a *Shared) Of(r *http.Request) *Memory {
	return a.For(r.Context(), connections.Client(r))
}

// For returns the memory of an answer to a client. The answer holds nothing yet.
func (a *Shared) For(ctx context.Context, client string) *Memory {
	return &Memory{answers: a, ctx: ctx, client: client}
}

// Memory is what one answer takes of [Shared].
type Memory struct {
	// Shed is called when a client takes long to read, while something is written to it: it lets go of what the answer can get again. It
	// may call Keep. nil: there is no such thing.
	Shed func()

	answers *Shared
	ctx     context.Context
	client  string

	mu   sync.Mutex
	held int64
	slow *time.Timer
}

// LargeBytes is how large an entity may be that is read without asking for memory, in bytes.
const LargeBytes = 16 << 10

// slowAfter is how long one write may take until a client counts as slow, which is what others wait for it at most.
const slowAfter = 100 * time.Millisecond

// Hold gives back what the answer has and waits for n bytes, or for all that there are. No answer waits for memory while it has
// some, so that they cannot wait for each other, and none for more than the share of its own client. The wait is no longer than that of an
// answer that makes no progress.
func (m *Memory) Hold(n int64) error {
	m.Release()
	if n == 0 {
		return nil
	}
	n = min(n, m.answers.most)
	ctx, cancel := context.WithTimeout(m.ctx, m.answers.timeout)
	defer cancel()
	if err := m.answers.quota.Wait(ctx, m.client, n); err != nil {
		return domain.Errorf(domain.Unavailable,
			"answers have entities and values of %d bytes in memory, or three quarters of that for this client, which is the limit; try again", m.answers.most)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = n
	return nil
}

// Keep gives back all but n bytes.
func (m *Memory) Keep(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < m.held {
		m.answers.quota.Give(m.client, m.held-n)
		m.held = n
	}
}

// Release gives back what the answer has.
func (m *Memory) Release() { m.Keep(0) }

// HoldsNone reports whether the answer has no memory.
func (m *Memory) HoldsNone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held == 0
}

// Writing is called before something is written to the client, Wrote after that.
func (m *Memory) Writing() {
	switch {
	case m.Shed == nil:
	case m.slow == nil:
		m.slow = time.AfterFunc(slowAfter, m.Shed)
	default:
		m.slow.Reset(slowAfter)
	}
}

// Wrote is called after something was written.
func (m *Memory) Wrote() {
	if m.slow != nil {
		m.slow.Stop()
	}
}
