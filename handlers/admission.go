package handlers

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/connections"
)

// admitBody lets a request with a body in while its client has less than its share of BodiesInFlight. A body that is loaded
// as a whole takes BodyMemory as it arrives; one that is declared longer than what is free for its client is refused at once.
func (a *API) admitBody(c *gin.Context) {
	if c.Request.ContentLength == 0 {
		return
	}
	body := bodyOf(c)
	if body.client == "" { // else UnknownBodies may be looking at it
		body.client = connections.Client(c.Request)
	}
	if !a.bodies.Take(body.client, 1) {
		a.refuseBody(c, domain.Errorf(domain.Unavailable, "%d requests with a body are being served, or three quarters of that for this client, which is the limit; try again", a.BodiesInFlight))
		return
	}
	defer a.bodies.Give(body.client, 1)
	if !slices.Contains(a.Streams, c.FullPath()) {
		body.most = a.loads(c)
	}
	if c.Request.ContentLength > 0 && !a.memory.Fits(body.client, body.most) {
		a.refuseBody(c, a.noMemory())
		return
	}
	defer func() { a.memory.Give(body.client, body.held) }()
	c.Next()
}

// bodyOf returns the body of a request that has one.
func bodyOf(c *gin.Context) *timedBody { return c.Request.Body.(*timedBody) }

// hold takes n bytes of BodyMemory for a request with a body that was let in, or refuses it.
func (a *API) hold(c *gin.Context, n int64) error {
	body := bodyOf(c)
	if !a.memory.Take(body.client, n) {
		hangUp(c)
		return a.noMemory()
	}
	body.held += n
	return nil
}

// release gives back n bytes of what hold took, before the request's end.
func (a *API) release(c *gin.Context, n int64) {
	body := bodyOf(c)
	a.memory.Give(body.client, n)
	body.held -= n
}

// arrived takes memory for n more bytes of a body that is loaded as a whole. It takes twice as much each time, as the buffer
// does that they are read into.
func (a *API) arrived(c *gin.Context, n int64) error {
	if n == 0 {
		return nil // also where there is no body
	}
	body := bodyOf(c)
	if body.loaded += n; body.loaded <= body.counted || body.counted == body.most {
		return nil
	}
	more := min(max(body.loaded, 2*body.counted), body.most) - body.counted
	body.counted += more
	return a.hold(c, more)
}

func (a *API) noMemory() error {
	return domain.Errorf(domain.Unavailable, "bodies of %d bytes are being served, or three quarters of that for this client, which is the limit; try again", a.BodyMemory)
}

func (a *API) refuseBody(c *gin.Context, err error) {
	hangUp(c)
	a.Fail(c, err)
	c.Abort()
}

// loads is how much of a body may be in memory where it is read as a whole, in bytes: what is declared, or, where nothing
// is, a client's share. A body that is longer than that counts as all of it.
func (a *API) loads(c *gin.Context) int64 {
	most := a.memory.Most()
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
	end     error         // of the body, io.EOF if it is complete; nil before

	still   func() error // called when the body is complete: why nothing may come of it; may be nil
	leave   func()       // of [UnknownBodies]; nil for a body that does not count there
	gaveWay atomic.Bool  // the reader gets errGaveWay

	// What follows is set when the request is let in.

	client  string
	held    int64 // of BodyMemory, in bytes, until the request's end
	most    int64 // that the body's text may count there, 0 for a route of Streams
	loaded  int64 // bytes of the text that have come
	counted int64 // bytes of the text that held has
}

func newTimedBody(r io.ReadCloser, w http.ResponseWriter, within time.Duration, rate int64) *timedBody {
	b := &timedBody{ReadCloser: r, control: *http.NewResponseController(w), time: within, left: within, bytes: max(int64(within.Seconds()*float64(rate)), 1)}
	b.wait() // also for what net/http reads of a body that nobody wants
	return b
}

// breakOff ends the body, also while it is being read.
func (b *timedBody) breakOff() {
	b.gaveWay.Store(true)
	_ = b.control.SetReadDeadline(time.Now())
}

func (b *timedBody) wait() {
	_ = b.control.SetReadDeadline(time.Now().Add(b.left)) // not supported where there is no socket, as in tests
}

// Read lifts the deadline when the body is complete: net/http reads on to see whether the client hangs up, and would take
// the deadline for that.
func (b *timedBody) Read(p []byte) (int, error) {
	if b.end != nil {
		return 0, b.end
	}
	b.wait()
	if b.gaveWay.Load() { // else breakOff sets a deadline after this one
		return 0, errGaveWay
	}
	from := time.Now()
	n, err := b.ReadCloser.Read(p)
	if b.gaveWay.Load() {
		return 0, errGaveWay
	}
	b.left -= time.Since(from)
	if b.got += int64(n); b.got >= b.bytes {
		b.got, b.left = 0, b.time
	}
	if err != io.EOF {
		return n, err
	}
	if b.leave != nil {
		b.leave() // before the deadline is lifted, because breakOff sets one
	}
	_ = b.control.SetReadDeadline(time.Time{})
	b.end = io.EOF
	if b.still != nil {
		b.end = cmp.Or(b.still(), b.end)
	}
	return n, b.end
}

// hangUp has the connection closed after the answer, so that net/http does not read the rest of the body before it.
func hangUp(c *gin.Context) { c.Header("Connection", "close") }
