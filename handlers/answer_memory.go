package handlers

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/connections"
	"ledge/handlers/quota"
)

// Answers is the memory for large entities and values, which all answers of a service share.
type Answers struct {
	quota   *quota.Quota
	most    int64
	timeout time.Duration
}

// NewAnswers returns the memory of a service: two thirds of the memory for bodies. An answer waits for it as long as for a client that
// reads.
func NewAnswers(o Options) *Answers {
	o = o.WithDefaults()
	most := max(o.BodyMemory/3*2, 1)
	return &Answers{quota.New(most), most, o.WriteTimeout}
}

// Of returns the memory of an answer to a request. The answer holds nothing yet.
func (a *Answers) Of(r *http.Request) *AnswerMemory {
	return &AnswerMemory{answers: a, ctx: r.Context(), client: connections.Client(r)}
}

// AnswerMemory is what one answer takes of [Answers].
type AnswerMemory struct {
	// Shed is called when a client takes long to read, while something is written to it: it lets go of what the answer can get again. It
	// may call Keep. nil: there is no such thing.
	Shed func()

	answers *Answers
	ctx     context.Context
	client  string

	mu   sync.Mutex
	held int64
	slow *time.Timer
}

// slowAfter is how long one write may take until a client counts as slow, which is what others wait for it at most.
const slowAfter = 100 * time.Millisecond

// AnswerMemory returns the memory of an answer to a client, of which it has none yet.
func (a *API) AnswerMemory(ctx context.Context, client string) *AnswerMemory {
	return &AnswerMemory{answers: a.answers, ctx: ctx, client: client}
}

// AnswerMemoryOf is AnswerMemory for a request.
func (a *API) AnswerMemoryOf(c *gin.Context) *AnswerMemory { return a.answers.Of(c.Request) }

// Hold gives back what the answer has and waits for n bytes, or for all that there are. No answer waits for memory while it has
// some, so that they cannot wait for each other, and none for more than the share of its own client. The wait is no longer than that of an
// answer that makes no progress.
func (m *AnswerMemory) Hold(n int64) error {
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
func (m *AnswerMemory) Keep(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < m.held {
		m.answers.quota.Give(m.client, m.held-n)
		m.held = n
	}
}

// Release gives back what the answer has.
func (m *AnswerMemory) Release() { m.Keep(0) }

func (m *AnswerMemory) holdsNone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held == 0
}

// Writing is called before something is written to the client, Wrote after that.
func (m *AnswerMemory) Writing() {
	switch {
	case m.Shed == nil:
	case m.slow == nil:
		m.slow = time.AfterFunc(slowAfter, m.Shed)
	default:
		m.slow.Reset(slowAfter)
	}
}

// Wrote is called after something was written.
func (m *AnswerMemory) Wrote() {
	if m.slow != nil {
		m.slow.Stop()
	}
}
