package handlers

import (
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// admitBody lets a request with a body in while there are fewer than BodiesInFlight and while what they may load is
// within BodyMemory, and sees that the body arrives. Otherwise a client that sends nothing would hold its place for ever.
func (a *API) admitBody(c *gin.Context) {
	if c.Request.ContentLength == 0 {
		return
	}
	select {
	case a.bodies <- struct{}{}:
		defer func() { <-a.bodies }()
	default:
		a.refuseBody(c, domain.Errorf(domain.Unavailable, "%d requests with a body are being served, which is the limit (setting limit-requests); try again", a.BodiesInFlight))
		return
	}
	n := int64(0)
	if !slices.Contains(a.Streams, c.FullPath()) {
		n = a.loads(c)
	}
	if !a.memory.TryAcquire(n) {
		a.refuseBody(c, a.noMemory())
		return
	}
	// A copy, because net/http looks for its own body in its request: without it, a client that is refused and waits for
	// 100 Continue would be told to send what nobody wants.
	c.Request = c.Request.WithContext(c.Request.Context())
	body := newTimedBody(c.Request.Body, c.Writer, a.BodyTimeout, a.BodyRate)
	body.held = n
	defer func() { a.memory.Release(body.held) }()
	c.Request.Body = body
	c.Next()
}

// hold takes n bytes of BodyMemory for a request with a body that was let in, or refuses it.
func (a *API) hold(c *gin.Context, n int64) error {
	if !a.memory.TryAcquire(n) {
		hangUp(c)
		return a.noMemory()
	}
	c.Request.Body.(*timedBody).held += n
	return nil
}

// release gives back n bytes of what hold took, before the request's end.
func (a *API) release(c *gin.Context, n int64) {
	a.memory.Release(n)
	c.Request.Body.(*timedBody).held -= n
}

func (a *API) noMemory() error {
	return domain.Errorf(domain.Unavailable, "bodies of %d bytes are being served, which is the limit (setting limit-body-memory); try again", a.BodyMemory)
}

func (a *API) refuseBody(c *gin.Context, err error) {
	hangUp(c)
	a.Fail(c, err)
	c.Abort()
}

// loads is how much of a body is in memory where it is read as a whole, in bytes: what is declared, or, where nothing is,
// what is allowed.
func (a *API) loads(c *gin.Context) int64 {
	most := min(max(a.BodyBytes, a.UploadBytes), a.BodyMemory)
	if c.Request.ContentLength < 0 {
		return most
	}
	return min(c.Request.ContentLength, most)
}

// timedBody is a body that must make progress: again and again, within a time that is spent waiting for it, a number of
// bytes must come, or its end. What the reader does between two reads is not the client's time.
type timedBody struct {
	io.ReadCloser
	control http.ResponseController
	time    time.Duration
	bytes   int64
	left    time.Duration // for the rest of bytes
	got     int64         // of bytes
	ended   bool
	held    int64 // of BodyMemory, in bytes, until the request's end
}

func newTimedBody(r io.ReadCloser, w http.ResponseWriter, within time.Duration, rate int64) *timedBody {
	b := &timedBody{ReadCloser: r, control: *http.NewResponseController(w), time: within, left: within, bytes: max(int64(within.Seconds()*float64(rate)), 1)}
	b.wait() // also for what net/http reads of a body that the handler does not want
	return b
}

func (b *timedBody) wait() {
	_ = b.control.SetReadDeadline(time.Now().Add(b.left)) // not supported where there is no socket, as in tests
}

// Read lifts the deadline when the body is complete: net/http reads on to see whether the client hangs up, and would take
// the deadline for that.
func (b *timedBody) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	b.wait()
	from := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.left -= time.Since(from)
	if b.got += int64(n); b.got >= b.bytes {
		b.got, b.left = 0, b.time
	}
	if err == io.EOF {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// hangUp has the connection closed after the answer, so that net/http does not read the rest of the body before it.
func hangUp(c *gin.Context) { c.Header("Connection", "close") }
