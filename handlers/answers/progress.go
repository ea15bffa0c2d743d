package answers

import (
	"net/http"
	"time"
)

// progressBytes is how much of an answer must be taken within the time limit, and then the next.
const progressBytes = 64 << 10

// Progress returns a writer for an answer that may take any time as long as the client goes on to read it: the time limit
// is for each progressBytes of it.
func Progress(w http.ResponseWriter, timeout time.Duration) http.ResponseWriter {
	return &progressWriter{w, http.NewResponseController(w), timeout}
}

type progressWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (w *progressWriter) Write(p []byte) (written int, err error) {
	for first := true; err == nil && (first || written < len(p)); first = false {
		_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // not supported where there is no socket, as in tests
		var n int
		n, err = w.ResponseWriter.Write(p[written:min(len(p), written+progressBytes)])
		written += n
	}
	return written, err
}
