package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
)

// The services that the console calls.
const (
	metadataService      = "core-metadata"
	dataService          = "core-data"
	commandService       = "core-command"
	deviceRESTService    = "device-rest"
	notificationsService = "support-notifications"
)

// mostAnswer bounds an answer of a service that is held in memory, in bytes.
const mostAnswer = 8 << 20

// answer is what a service has answered.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Message is the error message of the service; empty for a success.
	Message string
	// Problems are the errors of single fields.
	Problems problems
}

func (a answer) ok() bool { return a.Status < 300 }

// problem is an error of one field of a request.
type problem struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	Cure  string `json:"cure"`
}

type problems []problem

// Of returns the errors of a field, by its path below the entity, such as "name" or "channels[0].host"; "" if there are none.
func (p problems) Of(field string) string {
	var all []string
	for _, one := range p {
		_, below, _ := strings.Cut(strings.TrimLeft(one.Path, "[0123456789]."), ".")
		if below == field || strings.HasPrefix(below, field+".") || strings.HasPrefix(below, field+"[") {
			all = append(all, one.text())
		}
	}
	return strings.Join(all, "; ")
}

// within reports whether there are errors, and each is of one of the fields. Then a page needs to show them beside the fields only.
func (p problems) within(fields ...string) bool {
	for _, one := range p {
		if !slices.ContainsFunc(fields, func(field string) bool { return (problems{one}).Of(field) != "" }) {
			return false
		}
	}
	return len(p) > 0
}

func (p problem) text() string {
	if p.Value == "" {
		return p.Cure
	}
	return p.Value + ": " + p.Cure
}

// call sends a request to a service in the name of the user, and reads the whole answer. body may be nil, bytes
// or a reader; anything else is sent as JSON. header has pairs of names and values.
func (s *Console) call(c *gin.Context, service, method, path string, body any, header ...string) answer {
	if err := access.StillLoggedIn(c.Request.Context()); err != nil { // a form with files is read by what calls this
		return answer{Status: statusOf(domain.CodeOf(err)), Message: err.Error()}
	}
	r, err := s.request(c, method, path, body, header...)
	if err != nil {
		return answer{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	w := &answerWriter{header: http.Header{}}
	s.Services[service].ServeHTTP(w, r)
	a := answer{Status: max(w.status, http.StatusOK), Header: w.header, Body: w.body.Bytes()}
	if w.tooLong {
		return answer{Status: http.StatusInternalServerError, Message: fmt.Sprintf("the answer is longer than %d MiB; ask for less", mostAnswer>>20)}
	}
	a.read()
	return a
}

// forward sends a request to a service in the name of the user and passes the answer on as it comes.
func (s *Console) forward(c *gin.Context, service, method, path string, header ...string) {
	r, err := s.request(c, method, path, nil, header...)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.Services[service].ServeHTTP(c.Writer, r)
}

func (s *Console) request(c *gin.Context, method, path string, body any, header ...string) (*http.Request, error) {
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
	r, err := http.NewRequestWithContext(c.Request.Context(), method, "http://console"+path, content)
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
func (a *answer) read() {
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		if !a.ok() {
			a.Message = strings.TrimSpace(string(a.Body))
		}
		return
	}
	type envelope struct {
		Message    string   `json:"message"`
		StatusCode int      `json:"statusCode"`
		Errors     problems `json:"errors"`
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
	} else if !a.ok() {
		_ = json.Unmarshal(a.Body, &e) // an answer without a message has none
	}
	if !a.ok() {
		a.Message, a.Problems = e.Message, e.Errors
	}
	if field, ok := fieldOfCure(a.Message); ok && len(a.Problems) == 0 {
		a.Problems = problems{{Path: "entity." + field, Cure: a.Message}}
	}
}

// fieldOfCure returns the field that a refusal is about. Refusals that depend on other entities have no list of fields, but their message
// ends with a cure.
func fieldOfCure(message string) (field string, ok bool) {
	for cure, field := range map[string]string{
		"correct profileName": "profileName", "correct serviceName": "serviceName", "choose another name or change the one that is there": "name",
	} {
		if strings.HasSuffix(message, cure) {
			return field, true
		}
	}
	return "", false
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
	if w.body.Len()+len(b) > mostAnswer {
		w.tooLong = true
		return 0, io.ErrShortBuffer
	}
	return w.body.Write(b)
}

func (w *answerWriter) Flush()                           {}
func (w *answerWriter) SetReadDeadline(time.Time) error  { return nil }
func (w *answerWriter) SetWriteDeadline(time.Time) error { return nil }

var _ http.ResponseWriter = (*answerWriter)(nil)

// api begins the paths of the API that the console calls.
const api = "/api/" + handlers.V2

// apiPath is an address of a service below a name.
func apiPath(before, name string) string { return api + "/" + before + url.PathEscape(name) }

// ifMatch is the header for a change of the revision that the user has seen.
func ifMatch(revision string) []string {
	if revision == "" {
		return nil
	}
	return []string{"If-Match", fmt.Sprintf("%q", revision)}
}

// changeOne sends one entity to a service in the array that the service takes.
func (s *Console) changeOne(c *gin.Context, service, method, path, key string, fields map[string]any, revision string) answer {
	body := []any{map[string]any{"apiVersion": handlers.V2, key: fields}}
	return changedMeanwhile(s.call(c, service, method, path, body, ifMatch(revision)...))
}

// changedMeanwhile explains a refusal because of an old revision.
func changedMeanwhile(a answer) answer {
	if a.Status == http.StatusPreconditionFailed {
		a.Message = "Somebody else has changed this meanwhile. Copy your changes, open the page again, and enter them there. " + a.Message
	}
	return a
}

// finish answers a form without input: with a notice on the next page, or with the error.
func (s *Console) finish(c *gin.Context, a answer, to, notice string, args ...any) {
	if !a.ok() {
		s.showError(c, a.Status, a.Message)
		return
	}
	s.done(c, to, notice, args...)
}
