package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/handlers/web"
)

func TestCheckHost(t *testing.T) {
	for host, ok := range map[string]bool{
		"edge.example.org": true, "edge": true, "*.example.org": true, "*": true, "edge_1": true, "127.0.0.1": true,
		"": false, "*.": false, "a*": false, "a:80": false, "http://a": false, "a/b": false, "a b": false, "u@a": false,
	} {
		if err := web.CheckHost(host); (err == nil) != ok {
			t.Errorf("%q: got %v", host, err)
		}
	}
}

func TestCheckOrigin(t *testing.T) {
	for origin, ok := range map[string]bool{
		"http://a": true, "https://a.example.org:4000": true,
		"": false, "null": false, "*": false, "a.example.org": false, "http://a/": false, "http://a?b": false,
	} {
		if err := web.CheckOrigin(origin); (err == nil) != ok {
			t.Errorf("%q: got %v", origin, err)
		}
	}
}

// Every name is one of the service's where the setting says so; then only the headers of browsers count.
func TestEveryHost(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	h := web.SameOrigin{Hosts: []string{"*"}, Logger: slog.New(slog.DiscardHandler)}.Before(served)
	for origin, status := range map[string]int{"": 200, "http://any.example": 200, "http://ANY.example": 403, "http://other.example": 403} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://any.example/", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != status {
			t.Errorf("%q: got %d, want %d", origin, w.Code, status)
		}
	}
}

// A trusted page's preflight is answered, and its requests may be read.
func TestTrustedOrigin(t *testing.T) {
	h := web.SameOrigin{Hosts: []string{"edge"}, TrustedOrigins: []string{"http://ui"}, Logger: slog.New(slog.DiscardHandler)}.Before(http.NotFoundHandler())
	for method, status := range map[string]int{http.MethodOptions: 204, http.MethodGet: 404} {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://edge/x", nil)
		r.Header.Set("Origin", "http://ui")
		r.Header.Set("Access-Control-Request-Method", "PATCH")
		r.Header.Set("Access-Control-Request-Headers", "content-type,if-match")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := w.Header()
		if w.Code != status || got.Get("Access-Control-Allow-Origin") != "http://ui" || got.Get("Vary") != "Origin" {
			t.Errorf("%s: got %d %v", method, w.Code, got)
		}
		if asked := got.Get("Access-Control-Allow-Methods") + " " + got.Get("Access-Control-Allow-Headers"); strings.TrimSpace(asked) != "" != (status == 204) {
			t.Errorf("%s: got %v", method, got)
		}
	}
}

func BenchmarkSameOrigin(b *testing.B) {
	h := web.SameOrigin{Hosts: []string{"localhost", "edge"}, Logger: slog.New(slog.DiscardHandler)}.Before(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://127.0.0.1:59881/x", nil)
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
