package bodies

import (
	"cmp"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

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

	still   func() error // called when the body is complete: an error refuses the request; may be nil
	leave   func()       // of [UnknownBodies]; nil for a body that does not count there
	gaveWay atomic.Bool  // the reader gets errGaveWay

	// What follows is set when the request is let in.

	client  string
	held    int64 // of the memory, in bytes, until the request's end
	most    int64 // that the body's text may count there, 0 for a route that is Streamed
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
