// Package eventstream writes server-sent events, as WHATWG HTML describes them.
package eventstream

import (
	"bufio"
	"io"
	"net/http"
	"time"
)

// Writer writes to one client.
type Writer struct {
	w       io.Writer
	control *http.ResponseController
	timeout time.Duration
}

// Begin sets the headers of an answer. The client has a timeout for each text that is sent: a timeout for the whole answer would end an
// idle connection.
func Begin(w http.ResponseWriter, timeout time.Duration) Writer {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // of nginx
	below := w
	if outer, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		below = outer.Unwrap() // Gin's Flush does nothing if the writer below has no Flush
	}
	return Writer{w, http.NewResponseController(below), timeout}
}

// Send sends a text, which has the lines of whole events or comments.
func (s Writer) Send(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return err
	}
	w := bufio.NewWriter(s.w)
	_, _ = w.WriteString(text) // Flush returns the error
	if err := w.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}
