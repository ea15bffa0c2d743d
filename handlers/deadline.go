package handlers

import (
	"net/http"
)

// Deadlines sets the deadlines of every request before anything else looks at it, so that they hold for unknown paths and
// wrong methods as well: a body must arrive at the pace of BodyRate and BodyTimeout, an answer must be read within
// WriteTimeout. Each [Service] does so by itself; this is for what is served beside it.
func Deadlines(o Options, next http.Handler) http.Handler {
	o = o.WithDefaults()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(o.withDeadlines(w, r)) })
}

// withDeadlines returns w and r with deadlines. It does nothing the second time.
func (o Options) withDeadlines(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	if r.ContentLength != 0 {
		if _, timed := r.Body.(*timedBody); !timed {
			body := newTimedBody(r.Body, w, o.BodyTimeout, o.BodyRate)
			// A copy, because net/http looks for its own body in its request: without it, a client that is refused and waits
			// for 100 Continue would be told to send what nobody wants.
			r = r.WithContext(r.Context())
			r.Body = body
		}
	}
	if _, timed := w.(*timedWriter); !timed {
		w = &timedWriter{ResponseWriter: w, timeout: o.WriteTimeout}
	}
	return w, r
}
