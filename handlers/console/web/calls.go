package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/faults"
)

// MostAnswer bounds an answer of a service that is held in memory, in bytes.
const MostAnswer = 8 << 20

// Answer is what a service has answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Message is the error message of the service; empty for a success.
	Message string
	// Problems are the errors of single fields.
	Problems Problems
}

// OK reports whether the service has done the request.
func (a Answer) OK() bool { return a.Status < 300 }

// Call sends a request to a service in the name of the user, and reads the whole answer. body may be nil, bytes
// or a reader; anything else is sent as JSON. header has pairs of names and values.
func (s *Site) Call(c *gin.Context, service, method, path string, body any, header ...string) Answer {
	if err := access.StillLoggedIn(c.Request.Context()); err != nil { // a form with files is read by what calls this
		return Answer{Status: StatusOf(domain.CodeOf(err)), Message: err.Error()}
	}
	ctx, notes := faults.WithNotes(c.Request.Context())
	r, err := newRequest(ctx, c, method, path, body, header...)
	if err != nil {
		return Answer{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	w := &answerWriter{header: http.Header{}}
	s.Services[service].ServeHTTP(w, r)
	a := Answer{Status: max(w.status, http.StatusOK), Header: w.header, Body: w.body.Bytes()}
	if w.tooLong {
		message := fmt.Sprintf("the answer is longer than %d MiB; ask for less", MostAnswer>>20)
		return Answer{Status: http.StatusInternalServerError, Message: message}
	}
	a.read()
	a.Problems = belowEntity(notes.Fields)
	return a
}

// Forward sends a request to a service in the name of the user and passes the answer on as it comes.
func (s *Site) Forward(c *gin.Context, service, method, path string, header ...string) error {
	return s.ForwardTo(c, c.Writer, service, method, path, header...)
}

// ForwardTo is Forward to w.
func (s *Site) ForwardTo(c *gin.Context, w http.ResponseWriter, service, method, path string, header ...string) error {
	r, err := newRequest(c.Request.Context(), c, method, path, nil, header...)
	if err != nil {
		return err
	}
	s.Services[service].ServeHTTP(w, r)
	return nil
}

func newRequest(ctx context.Context, c *gin.Context, method, path string, body any, header ...string) (*http.Request, error) {
	var content io.Reader
	contentType := "application/json"
	switch b := body.(type) {
	case nil:
	case io.Reader:
		content, contentType = b, "application/octet-stream"
	case []byte:
		content, contentType = bytes.NewReader(b), "application/octet-stream"
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://console"+path, content)
	if err != nil {
		return nil, err
	}
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), c.Request.RemoteAddr
	if content != nil {
		r.Header.Set("Content-Type", contentType)
		if r.ContentLength == 0 && body != nil {
			if _, known := body.([]byte); !known {
				r.ContentLength = -1 // it is read to its end
			}
		}
	} else {
		r.Body = http.NoBody
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r, nil
}

// read finds the error in the body. For an array with one element it is the error of the element.
func (a *Answer) read() {
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		if !a.OK() {
			a.Message = strings.TrimSpace(string(a.Body))
		}
		return
	}
	type envelope struct {
		Message    string `json:"message"`
		StatusCode int    `json:"statusCode"`
	}
	var e envelope
	if a.Status == http.StatusMultiStatus {
		var elements []envelope
		if json.Unmarshal(a.Body, &elements) == nil {
			for _, one := range elements {
				if one.StatusCode > e.StatusCode {
					e = one
				}
			}
		}
		a.Status = max(e.StatusCode, http.StatusOK)
	} else if !a.OK() {
		_ = json.Unmarshal(a.Body, &e) // an answer without a message has none
	}
	if !a.OK() {
		a.Message = e.Message
	}
}

// answerWriter holds an answer. Its deadlines do nothing.
type answerWriter struct {
	header  http.Header
	status  int
	body    bytes.Buffer
	tooLong bool
}

func (w *answerWriter) Header() http.Header { return w.header }

func (w *answerWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

func (w *answerWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(b) > MostAnswer {
		w.tooLong = true
		return 0, io.ErrShortBuffer
	}
	return w.body.Write(b)
}

func (w *answerWriter) Flush()                           {}
func (w *answerWriter) SetReadDeadline(time.Time) error  { return nil }
func (w *answerWriter) SetWriteDeadline(time.Time) error { return nil }

var _ http.ResponseWriter = (*answerWriter)(nil)

// API begins the paths of the API that the console calls.
const API = "/api/" + handlers.V2

// APIPath is an address of a service below a name.
func APIPath(before, name string) string { return API + "/" + before + url.PathEscape(name) }

// IfMatch is the header for a change of the revision that the user has seen.
func IfMatch(revision string) []string {
	if revision == "" {
		return nil
	}
	return []string{"If-Match", fmt.Sprintf("%q", revision)}
}

// ChangeOne sends one entity to a service in the array that the service takes.
func (s *Site) ChangeOne(c *gin.Context, service, method, path, key string, fields map[string]any, revision string) Answer {
	body := []any{map[string]any{"apiVersion": handlers.V2, key: fields}}
	return ChangedMeanwhile(s.Call(c, service, method, path, body, IfMatch(revision)...))
}

// ChangedMeanwhile explains a refusal because of an old revision.
func ChangedMeanwhile(a Answer) Answer {
	if a.Status == http.StatusPreconditionFailed {
		a.Message = "Somebody else has changed this meanwhile. Copy your changes, open the page again, and enter them there. " + a.Message
	}
	return a
}

// Finish answers a form without input: with a notice on the next page, or with the error.
func (s *Site) Finish(c *gin.Context, a Answer, to, notice string, args ...any) error {
	if !a.OK() {
		return s.ShowError(c, a.Status, a.Message)
	}
	return s.Done(c, to, notice, args...)
}
