package handlers

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestRefusedLog holds that one refusal of a route is logged in a second, with the number of those before it that were not.
func TestRefusedLog(t *testing.T) {
	var l refusedLog
	at := time.Now()
	route, other := refusedRoute{"GET", "/a"}, refusedRoute{"GET", "/b"}
	for i, tt := range []struct {
		route  refusedRoute
		after  time.Duration
		more   int
		logged bool
	}{
		{route, 0, 0, true}, {route, time.Millisecond, 0, false}, {other, time.Millisecond, 0, true}, {route, 999 * time.Millisecond, 0, false},
		{route, time.Second, 2, true}, {route, 2 * time.Second, 0, true},
	} {
		if more, logged := l.due(tt.route, at.Add(tt.after)); more != tt.more || logged != tt.logged {
			t.Errorf("%d: got %d, %v; want %d, %v", i, more, logged, tt.more, tt.logged)
		}
	}
}

// TestObserved holds what is said of requests, and that refusals are logged with their reason.
func TestObserved(t *testing.T) {
	var seen []Served
	var out bytes.Buffer
	s := NewService(Options{Service: "x", Observe: func(s Served) { seen = append(seen, s) }, Logger: slog.New(slog.NewTextHandler(&out, nil))})
	s.API(V2)
	for _, tt := range []struct {
		method, path, route, as string
		status                  int
	}{
		{"GET", "/api/v2/ping", "/api/v2/ping", "GET", 200},
		{"GET", "/nowhere/of/mine", RouteUnknown, "GET", 404},
		{"DELETE", "/api/v2/ping", RouteUnknown, "DELETE", 405},
		{"BREW", "/nowhere", RouteUnknown, "OTHER", 404},
		{"GET", "//api/v2/ping", RouteRefused, "GET", 301},
		{"GET", "/a%2Fb", RouteUnknown, "GET", 404},
	} {
		seen = nil
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(tt.method, tt.path, http.NoBody))
		if len(seen) != 1 || seen[0].Route != tt.route || seen[0].Method != tt.as || seen[0].Status != tt.status {
			t.Errorf("%s %s: got %+v, want %s %s %d", tt.method, tt.path, seen, tt.as, tt.route, tt.status)
		}
	}
	if text := out.String(); !strings.Contains(text, "level=INFO") || !strings.Contains(text, "route=unknown path=/nowhere/of/mine status=404 reason=\"the service has no such path") {
		t.Errorf("logged: %s", text)
	}
}
