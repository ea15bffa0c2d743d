// Package bodies reads the bodies of requests within limits: how many there are at a time, the memory that they take, shared between
// clients, how long one is and how fast it comes.
//
// [Pace.SetDeadlines] comes first for each request. [Bodies.Admit] lets a request with a body in, and [Bodies.Body], [Bodies.ReadBody] and
// [Bodies.LoadForm] read it. [UnknownBodies] are those of clients that have not logged in.
package bodies

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/connections"
	"ledge/handlers/quota"
)

// Bodies are the bodies of requests that a service takes at a time: their number, and the memory that they take. Clients share both as a
// [quota.Quota] is shared.
type Bodies struct {
	inFlight      int
	bytes         int64 // of memory
	pace          Pace
	count, memory *quota.Quota
	turn          chan struct{} // has one element while a request waits for memory
}

// New returns the bodies of a service: inFlight at a time, with memory, which has so many bytes in all.
func New(inFlight int, memory *quota.Quota, bytes int64, pace Pace) *Bodies {
	return &Bodies{inFlight, bytes, pace, quota.New(int64(inFlight)), memory, make(chan struct{}, 1)}
}

// Admit lets a request with a body in while its client has less than its share of the number. A body that is loaded as a whole takes
// memory as it arrives; one that is declared longer than what is free for its client is refused at once. done ends the request: it
// gives back all that the request has. The error is a domain Error with the code Unavailable; the connection is closed after it.
func (b *Bodies) Admit(c *gin.Context, loaded bool) (done func(), err error) {
	if c.Request.ContentLength == 0 {
		return func() {}, nil
	}
	body := bodyOf(c)
	if body.client == "" { // else UnknownBodies may be looking at it
		body.client = connections.Client(c.Request)
	}
	if !b.count.Take(body.client, 1) {
		hangUp(c)
		return nil, domain.Errorf(domain.Unavailable, "too many requests with a body are being served: the limit is %d in all and three quarters of it for one client; try again", b.inFlight)
	}
	if loaded {
		body.most = b.loads(c)
	}
	if c.Request.ContentLength > 0 && !b.memory.Fits(body.client, body.most) {
		b.count.Give(body.client, 1)
		hangUp(c)
		return nil, b.noMemory()
	}
	return func() {
		b.count.Give(body.client, 1)
		b.memory.Give(body.client, body.held)
	}, nil
}

// bodyOf returns the body of a request, nil if there is none.
func bodyOf(c *gin.Context) *timedBody {
	switch body := c.Request.Body.(type) {
	case *timedBody:
		return body
	case loadedForm:
		return body.timedBody
	}
	return nil
}

// hold takes n bytes of memory for a request with a body that was let in, or refuses it.
func (b *Bodies) hold(c *gin.Context, n int64) error {
	body := bodyOf(c)
	if err := b.take(c.Request.Context(), body.client, n); err != nil {
		hangUp(c)
		return err
	}
	body.held += n
	return nil
}

// memoryWait is how long a request waits for memory.
const memoryWait = time.Second

// take takes memory for a request. If it is not free, one request at a time waits for it and the others are refused.
// So of many requests that arrive together, each with a part of its memory, at least one is served.
func (b *Bodies) take(ctx context.Context, client string, n int64) error {
	if b.memory.Take(client, n) {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	default:
		return b.noMemory()
	}
	ctx, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	if b.memory.Wait(ctx, client, n) != nil {
		return b.noMemory()
	}
	return nil
}

// release gives back n bytes of what hold took, before the request's end.
func (b *Bodies) release(c *gin.Context, n int64) {
	body := bodyOf(c)
	b.memory.Give(body.client, n)
	body.held -= n
}

// arrived takes memory for n more bytes of a body that is loaded as a whole. It takes twice as much each time, as the buffer
// does that they are read into.
func (b *Bodies) arrived(c *gin.Context, n int64) error {
	if n == 0 {
		return nil // also if there is no body
	}
	body := bodyOf(c)
	if body.loaded += n; body.loaded <= body.counted || body.counted == body.most {
		return nil
	}
	more := min(max(body.loaded, 2*body.counted), body.most) - body.counted
	body.counted += more
	return b.hold(c, more)
}

func (b *Bodies) noMemory() error {
	return domain.Errorf(domain.Unavailable, "too many request bodies are in memory: the limit is %d bytes in all and three quarters of it for one client; try again", b.bytes)
}

// loads is how much of a body may be in memory if it is read as a whole, in bytes: what is declared, or, if nothing
// is, a client's share. A body that is longer than that counts as all of it.
func (b *Bodies) loads(c *gin.Context) int64 {
	most := b.memory.Most()
	if c.Request.ContentLength < 0 {
		return most
	}
	return min(c.Request.ContentLength, most)
}

// hangUp has the connection closed after the answer, so that net/http does not read the rest of the body before it.
func hangUp(c *gin.Context) { c.Header("Connection", "close") }
