package handlers

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// progressBytes is how much of an answer must be taken within WriteTimeout, and then the next.
const progressBytes = 64 << 10

// Progress returns a writer for an answer that may take any time as long as the client goes on to read it: the time limit
// is for each progressBytes of it.
func (a *API) Progress(c *gin.Context) http.ResponseWriter {
	return &progressWriter{c.Writer, http.NewResponseController(c.Writer), a.WriteTimeout}
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
