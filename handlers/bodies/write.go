package bodies

import (
	"net/http"
	"time"
)

// timedWriter gives an answer timeout to be taken, from its first byte on. Without the deadline a client that does not
// read would keep the answer in memory, and its place among the bodies, for ever. net/http lifts the deadline before
// the connection's next request.
type timedWriter struct {
	http.ResponseWriter
	timeout time.Duration
	begun   bool
	status  int // 0 before the answer begins
}

func (w *timedWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout)) // not supported where there is no socket, as in tests
}

// WriteHeader implements http.ResponseWriter.
func (w *timedWriter) WriteHeader(status int) {
	w.begin()
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *timedWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// StatusOf returns the status of an answer with deadlines, 0 before it begins. ok is false if w has no deadlines.
func StatusOf(w http.ResponseWriter) (status int, ok bool) {
	if t, timed := w.(*timedWriter); timed {
		return t.status, true
	}
	return 0, false
}
