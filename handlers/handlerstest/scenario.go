package handlerstest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Scenario is one request and what must come of it.
type Scenario struct {
	Name   string
	Method string
	Path   string
	// Header holds "Key: value" lines.
	Header []string
	Body   string

	Status int
	// WantBody is the whole answer, where it is set; Contains are parts of it.
	WantBody string
	Contains []string
	// WantHeader holds "Key: value" lines that the answer must have; without a value, it must not have the key.
	WantHeader []string
	// Submits is how often the request may submit: 0 for everything that is refused before.
	Submits int
	// Loose says why the request is answered with success although the document does not allow it.
	Loose string
}

// Run serves the scenarios one after the other.
func Run(t *testing.T, h http.Handler, log *Log, scenarios []Scenario) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) { s.run(t, h, log) })
	}
}

func (s Scenario) run(t *testing.T, h http.Handler, log *Log) {
	t.Helper()
	submits := log.Submits()
	w := s.serve(h)
	if w.Code != s.Status {
		t.Errorf("status: got %d, want %d; body %s", w.Code, s.Status, w.Body)
	}
	got := w.Body.String()
	if s.WantBody != "" && got != s.WantBody {
		t.Errorf("body:\n got %q\nwant %q", got, s.WantBody)
	}
	for _, part := range s.Contains {
		if !strings.Contains(got, part) {
			t.Errorf("body:\n got %s\nwant %s in it", got, part)
		}
	}
	for _, line := range s.WantHeader {
		key, want, _ := strings.Cut(line, ": ")
		if got := w.Header().Get(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	if n := log.Submits() - submits; n != s.Submits {
		t.Errorf("submits: got %d, want %d", n, s.Submits)
	}
	if w.Header().Get("X-Correlation-ID") == "" {
		t.Error("no X-Correlation-ID")
	}
}

func (s Scenario) serve(h http.Handler) *httptest.ResponseRecorder {
	r := newRequest(s.Method, s.Path, s.Body, s.Header)
	if s.Loose != "" {
		r = Loose(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Serve serves one request without a socket. Header holds "Key: value" lines.
func Serve(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newRequest(method, path, body, header))
	return w
}

func newRequest(method, path, body string, header []string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for _, line := range header {
		key, value, _ := strings.Cut(line, ": ")
		r.Header.Set(key, value)
	}
	return r
}
