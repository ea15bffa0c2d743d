package handlerstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/startup"
)

// Fixture makes a service in which the examples of its document succeed, with its options changed. The second value is
// all that it writes to and reads from.
type Fixture func(tb testing.TB, change func(*handlers.Options)) (http.Handler, []*Log)

// DriveExamples holds that the example of each operation succeeds, each on a service of its own. One that is documented
// to succeed never is only asked for.
func (c *Contract) DriveExamples(t *testing.T, fixture Fixture) {
	t.Helper()
	for _, o := range c.operations() {
		t.Run(o.OperationID, func(t *testing.T) {
			h, _ := fixture(t, func(*handlers.Options) {})
			w := o.example().serve(h)
			var items []item
			if w.Code == http.StatusMultiStatus {
				if err := json.Unmarshal(w.Body.Bytes(), &items); err != nil {
					t.Errorf("answer: %v", err)
				}
			}
			if never := o.statuses()[0] >= 300; never {
				return
			}
			if w.Code >= 300 || slices.ContainsFunc(items, func(i item) bool { return i.StatusCode >= 300 }) {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
}

// item is what is looked at in an element of an answer.
type item struct{ StatusCode int }

// failure is a way to fail that operations have in common.
type failure struct {
	status int
	change func(*handlers.Options)
	log    error // what the log and the secrets answer; with 500 and 503 the state cannot be read either
	alter  func(operation, *Scenario) bool
	before func(Scenario) Scenario // what is sent first
}

var failures = []failure{
	{status: 304, alter: func(_ operation, s *Scenario) bool { s.Header = []string{"If-None-Match: *"}; return true }},
	{status: 400, alter: spoil},
	{status: 404, alter: misname},
	{status: 412, alter: func(_ operation, s *Scenario) bool { s.Header = append(s.Header, `If-Match: "999999"`); return true }},
	{status: 413, alter: withBody, change: func(o *handlers.Options) { o.BodyBytes, o.UploadBytes, o.ResourceBytes, o.SecretBytes = 1, 1, 1, 1 }},
	{status: 416, alter: overshoot},
	{status: 422, alter: withKey, before: otherwise},
	{status: 500, log: errors.New("boom")},
	{status: 503, log: stopping, change: func(o *handlers.Options) { o.Ready = func() error { return stopping } }},
	{status: 507, log: domain.Errorf(domain.Full, "the disk is full")},
}

// withBody leaves out requests without a body, and the login, whose limit is not an option.
func withBody(o operation, _ *Scenario) bool { return o.OperationID != "login" && o.RequestBody != nil }

var stopping = domain.Errorf(domain.Unavailable, "ledge is stopping")

// spoil makes a request wrong in itself.
func spoil(o operation, s *Scenario) bool {
	switch {
	case o.takes(openapi3.ParameterInHeader, "Range"): // whose other headers are never wrong
		s.Path = "/api/v2" + o.pathWith(func(string) string { return "x" })
	case o.RequestBody == nil && o.takes(openapi3.ParameterInQuery, "limit"):
		s.Path += "?limit=x"
	case o.takes(openapi3.ParameterInQuery, "buckets"):
		s.Path += "?buckets=x"
	case o.RequestBody == nil && o.takes(openapi3.ParameterInQuery, "ds-pushevent"):
		s.Path += "?ds-pushevent=x"
	case o.RequestBody == nil && o.takes(openapi3.ParameterInHeader, "If-Match"):
		s.Header = []string{"If-Match: x"}
	case o.RequestBody == nil:
		s.Header = []string{"If-None-Match: x"}
	case o.RequestBody.Value.Content["*/*"] != nil:
		s.Body = ""
	case o.OperationID == "writeToDevice": // which answers 500 to other texts than JSON, as EdgeX 2.3
		s.Body = strings.Repeat("[", 20_000)
	default:
		s.Body = "x"
	}
	return true
}

// overshoot asks for what is behind the end.
func overshoot(o operation, s *Scenario) bool {
	if o.takes(openapi3.ParameterInQuery, "offset") {
		s.Path += "?offset=500"
	} else {
		s.Header = append(s.Header, "Range: bytes=999999999-")
	}
	return true
}

func withKey(_ operation, s *Scenario) bool {
	s.Header = append(s.Header, "Idempotency-Key: k-1")
	return true
}

// otherwise is a request that has another body and succeeds as well.
func otherwise(s Scenario) Scenario {
	end := strings.LastIndex(s.Body, "\r\n--") // of a form's file
	switch {
	case end >= 0:
		s.Body = s.Body[:end] + "\n" + s.Body[end:]
	case s.Body[0] == '[', s.Body[0] == '{':
		s.Body = " " + s.Body
	default: // a number
		s.Body += "7"
	}
	return s
}

// misname makes a request ask for what does not exist.
func misname(o operation, s *Scenario) bool {
	s.Path = "/api/v2" + o.pathWith(func(name string) string {
		if name == "id" { // what is no UUID is wrong in itself
			return ID(404)
		}
		return "nosuch"
	})
	return strings.Contains(o.path, "{")
}

// DriveFailures holds that the example of each operation, where it fails in a way that operations have in common, is
// answered as the document says.
func (c *Contract) DriveFailures(t *testing.T, fixture Fixture) {
	t.Helper()
	for _, f := range failures {
		for _, o := range c.operations() {
			if !slices.Contains(o.statuses(), f.status) || o.OperationID == "login" && f.status == http.StatusInternalServerError {
				continue
			}
			service := fixture
			if o.OperationID == "ping" { // whatever the log is like: it fails while the program starts only
				service = func(tb testing.TB, _ func(*handlers.Options)) (http.Handler, []*Log) {
					return c.Watch(tb, startup.Handler(handlers.Options{}, func() string { return "" })), nil
				}
			}
			t.Run(fmt.Sprint(o.OperationID, " ", f.status), func(t *testing.T) { f.drive(t, o, service) })
		}
	}
}

func (f failure) drive(t *testing.T, o operation, fixture Fixture) {
	t.Helper()
	s := o.example()
	if f.alter != nil && !f.alter(o, &s) {
		return
	}
	h, logs := fixture(t, func(o *handlers.Options) {
		if f.change != nil {
			f.change(o)
		}
		if f.log != nil && o.Secrets != nil {
			o.Secrets = &Secrets{Fail: f.log}
		}
	})
	for _, log := range logs {
		log.Fail, log.Unreadable = f.log, f.status == http.StatusInternalServerError || f.status == http.StatusServiceUnavailable
	}
	if f.before != nil {
		if w := f.before(s).serve(h); w.Code >= 300 {
			t.Errorf("before it: got %d %s", w.Code, w.Body)
		}
	}
	if w := s.serve(h); w.Code != f.status {
		t.Errorf("got %d %s, want %d", w.Code, w.Body, f.status)
	}
}

// example is the request that the document gives as an example.
func (o operation) example() Scenario {
	s := Scenario{Method: o.method, Path: "/api/v2" + o.pathWith(o.exampleOf)}
	if o.RequestBody == nil {
		return s
	}
	for kind, media := range o.RequestBody.Value.Content {
		switch kind {
		case "application/json":
			b, err := json.Marshal(media.Example)
			if err != nil {
				panic(err)
			}
			s.Body, s.Header = string(b), []string{"Content-Type: application/json"}
		case "multipart/form-data":
			s.Body, s.Header = form(media.Example.(map[string]any))
		case "text/plain":
			s.Body, s.Header = fmt.Sprint(media.Example), []string{"Content-Type: text/plain"}
		}
	}
	return s
}

// pathWith is the path with its parameters filled in.
func (o operation) pathWith(value func(name string) string) string {
	segments := strings.Split(o.path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = value(strings.Trim(s, "{}"))
		}
	}
	return strings.Join(segments, "/")
}

func (o operation) exampleOf(name string) string {
	for _, p := range o.parameters() {
		if p.Value.Name == name && p.Value.Example != nil {
			if n, ok := p.Value.Example.(float64); ok { // which has an exponent where it is large
				return strconv.FormatFloat(n, 'f', -1, 64)
			}
			return fmt.Sprint(p.Value.Example)
		}
	}
	panic(fmt.Sprintf("%s: the parameter %s has no example", o.path, name))
}

func form(fields map[string]any) (body string, header []string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, text := range fields {
		part, err := w.CreateFormFile(name, name+".yaml")
		if err == nil {
			_, err = fmt.Fprint(part, text)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String(), []string{"Content-Type: " + w.FormDataContentType()}
}
