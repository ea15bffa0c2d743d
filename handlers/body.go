package handlers

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// admitBody lets a request with a body in while there are fewer than BodiesInFlight and while what they may load is
// within BodyMemory, and gives the body BodyTimeout to arrive. Without the deadline a client that sends nothing would
// hold its place for ever.
func (a *API) admitBody(c *gin.Context) {
	if c.Request.ContentLength == 0 {
		return
	}
	select {
	case a.bodies <- struct{}{}:
		defer func() { <-a.bodies }()
	default:
		a.refuseBody(c, "%d requests with a body are being served, which is the limit (setting limit-requests)", a.BodiesInFlight)
		return
	}
	loads := a.loads(c)
	if !a.memory.TryAcquire(loads) {
		a.refuseBody(c, tooMuchMemory, a.BodyMemory)
		return
	}
	defer a.memory.Release(loads)
	control := http.NewResponseController(c.Writer)
	_ = control.SetReadDeadline(time.Now().Add(a.BodyTimeout)) // not supported where there is no socket, as in tests
	c.Request.Body = &timedBody{c.Request.Body, control}
	c.Next()
}

const tooMuchMemory = "bodies of %d bytes are being served, which is the limit (setting limit-body-memory)"

func (a *API) refuseBody(c *gin.Context, format string, args ...any) {
	hangUp(c)
	a.Fail(c, domain.Errorf(domain.Unavailable, format+"; try again", args...))
	c.Abort()
}

// loads is how much of a request's body may be in memory, in bytes: what is declared, or, where nothing is, what is allowed.
func (a *API) loads(c *gin.Context) int64 {
	most := min(max(a.BodyBytes, a.UploadBytes), a.BodyMemory)
	if slices.Contains(a.Streams, c.FullPath()) {
		most = min(a.InlineBytes, a.BodyMemory)
	}
	if c.Request.ContentLength < 0 {
		return most
	}
	return min(c.Request.ContentLength, most)
}

// timedBody lifts the read deadline when the body is complete: net/http reads on to see whether the client hangs up,
// and would take the deadline for that.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// hangUp has the connection closed after the answer, so that net/http does not read the rest of the body before it.
func hangUp(c *gin.Context) { c.Header("Connection", "close") }

// Body is the body of a request, bounded in size and time. Its Read fails with a domain Error, which Err keeps for
// callers whose reader loses it.
type Body struct {
	Err     error
	c       *gin.Context
	r       io.Reader
	limit   int64
	setting string
	timeout time.Duration
	sum     hash.Hash // of what is read, where Sum wants it
}

// Body refuses a body whose declared length is over limit, in bytes; one without a declared length fails when it
// passes the limit. setting is what messages call the limit.
func (a *API) Body(c *gin.Context, limit int64, setting string) (*Body, error) {
	b := &Body{c: c, limit: limit, setting: setting, timeout: a.BodyTimeout, r: http.MaxBytesReader(c.Writer, c.Request.Body, limit)}
	if c.Request.ContentLength > limit {
		return nil, b.tooLarge()
	}
	return b, nil
}

func (b *Body) tooLarge() error {
	hangUp(b.c)
	return domain.Errorf(domain.TooLarge, "the body is longer than %d bytes, which is the limit; send less or raise the setting %s", b.limit, b.setting)
}

func (b *Body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.sum != nil {
		b.sum.Write(p[:n])
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		b.Err = b.tooLarge()
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		hangUp(b.c)
		b.Err = domain.Errorf(domain.Unavailable, "the body did not arrive within %s; send it faster or raise the setting limit-read-time", b.timeout)
	} else {
		b.Err = domain.Errorf(domain.Invalid, "the body broke off: %v; send all of it", err)
	}
	return n, b.Err
}

// Sum is to be called before anything is read. The function that it returns reads what is left and returns the SHA-256 of
// the whole body.
func (b *Body) Sum() func() ([sha256.Size]byte, error) {
	b.sum = sha256.New()
	return func() (sum [sha256.Size]byte, err error) {
		_, err = io.Copy(io.Discard, b)
		b.sum.Sum(sum[:0])
		return sum, err
	}
}

// mostAhead is how much is allocated, in bytes, on the word of a Content-Length alone.
const mostAhead = 64 << 10

// ReadBody returns a whole body of at most limit bytes; setting is what messages call the limit.
func (a *API) ReadBody(c *gin.Context, limit int64, setting string) ([]byte, error) {
	body, err := a.Body(c, limit, setting)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(int(min(max(c.Request.ContentLength, 0), mostAhead)) + bytes.MinRead)
	if _, err := b.ReadFrom(body); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
