package bodies

import (
	"net/http"
	"time"
)

// Pace says how slowly a client may send a body and read an answer.
type Pace struct {
	// In each Timeout there must be as many bytes of a body as Rate, in bytes a second, makes of that time, or the end of the body.
	Timeout time.Duration
	Rate    int64
	// WriteTimeout is how long a client may take to read its answer.
	WriteTimeout time.Duration
}

// SetDeadlines returns w and r with deadlines. It does nothing the second time.
func (p Pace) SetDeadlines(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	if r.ContentLength != 0 {
		if _, timed := r.Body.(*timedBody); !timed {
			body := newTimedBody(r.Body, w, p.Timeout, p.Rate)
			// A copy, because net/http looks for its own body in its request: without it, a client that is refused and waits
			// for 100 Continue would be told to send what nobody wants.
			r = r.WithContext(r.Context())
			r.Body = body
		}
	}
	if _, timed := w.(*timedWriter); !timed {
		w = &timedWriter{ResponseWriter: w, timeout: p.WriteTimeout}
	}
	return w, r
}

// CheckAtEnd has still called when the body of a request with deadlines is complete: an error refuses the request.
func CheckAtEnd(r *http.Request, still func() error) {
	if body, ok := r.Body.(*timedBody); ok {
		body.still = still
	}
}
