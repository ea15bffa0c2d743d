package handlers_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

func TestAbout(t *testing.T) {
	h, log := mustService(t, func(o *handlers.Options) {
		o.Config = func() any { return map[string]any{"Writable": map[string]string{"LogLevel": "INFO"}} }
	})
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "ping", Method: "GET", Path: "/api/v2/ping", Status: 200, WantBody: `{"apiVersion":"v2","timestamp":"Sat Nov 21 07:42:05 UTC 2026","serviceName":"core-metadata"}`},
		{Name: "version", Method: "GET", Path: "/api/v2/version", Status: 200,
			WantBody: `{"apiVersion":"v2","version":"2.3.0","serviceName":"core-metadata","ledgeVersion":"1.2.3"}`},
		{Name: "config", Method: "GET", Path: "/api/v2/config", Status: 200, WantBody: `{"apiVersion":"v2","config":{"Writable":{"LogLevel":"INFO"}},"serviceName":"core-metadata"}`},
	})
	full := domain.Errorf(domain.Full, "the disk is full")
	h, log = mustService(t, func(o *handlers.Options) {
		o.Ready = func() error { return full }
		o.Storage = func() any { return map[string]int{"x": 1} }
	})
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "not ready", Method: "GET", Path: "/api/v2/health", Status: 503, WantBody: `{"apiVersion":"v2","message":"not ready: the disk is full","statusCode":503}` + "\n"},
		{Name: "metrics of the storage", Method: "GET", Path: "/api/v2/metrics", Status: 200, Contains: []string{`"storage":{"x":1}`}},
	})
	h, log = mustService(t, nil)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "ready", Method: "GET", Path: "/api/v2/health", Status: 200, WantBody: `{"apiVersion":"v2","health":"ready","serviceName":"core-metadata"}`},
	})
	got := handlerstest.Serve(h, "GET", "/api/v2/metrics", "").Body.String()
	want := regexp.MustCompile(`^{"apiVersion":"v2","metrics":{"memAlloc":\d+,"memFrees":\d+,"memLiveObjects":\d+,"memMallocs":\d+,"memSys":\d+,"memTotalAlloc":\d+,"cpuBusyAvg":\d+},"serviceName":"core-metadata"}$`)
	if !want.MatchString(got) {
		t.Errorf("metrics: got %s", got)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	h, log := mustService(t, nil)
	const notFound = "404 page not found\n"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "unknown", Method: "GET", Path: "/api/v2/nosuch", Status: 404, WantBody: notFound},
		{Name: "root", Method: "GET", Path: "/", Status: 404, WantBody: notFound},
		{Name: "trailing slash", Method: "GET", Path: "/api/v2/ping/", Status: 404, WantBody: notFound},
		{Name: "upper case", Method: "GET", Path: "/API/V2/PING", Status: 404, WantBody: notFound},
		{Name: "other version", Method: "GET", Path: "/api/v1/ping", Status: 404, WantBody: notFound},
		{Name: "no name", Method: "DELETE", Path: "/api/v2/service/name/", Status: 404, WantBody: notFound},
		{Name: "encoded slash", Method: "DELETE", Path: "/api/v2/service/name/a%2fb", Status: 404, WantBody: notFound},
		{Name: "double slash", Method: "GET", Path: "/api//v2/ping", Status: 301},
		{Name: "dots", Method: "GET", Path: "/api/v2/x/../ping", Status: 301},
		{Name: "post", Method: "POST", Path: "/api/v2/ping", Body: "{}", Status: 405},
		{Name: "head", Method: "HEAD", Path: "/api/v2/ping", Status: 405},
		{Name: "options", Method: "OPTIONS", Path: "/api/v2/ping", Status: 405},
		{Name: "get of a post", Method: "GET", Path: "/api/v2/service", Status: 405},
	})
	if w := handlerstest.Serve(h, "POST", "/api/v2/ping", "{}"); w.Body.String() != "POST is not possible here; use GET\n" || w.Header().Get("Allow") != "GET" {
		t.Errorf("405: got body %q, Allow %q", w.Body, w.Header().Get("Allow"))
	}
	if got := handlerstest.Serve(h, "GET", "/api//v2/ping?a=b", "").Header().Get("Location"); got != "/api/v2/ping?a=b" {
		t.Errorf("location: got %q", got)
	}
	if got := handlerstest.Serve(h, "GET", "/x", "").Header(); got.Get("Content-Type") != "text/plain; charset=utf-8" || got.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("404: got %v", got)
	}
}

// TestElsewhere holds that a client at the wrong service is told the right one, and one at a wrong path where the right ones are.
func TestElsewhere(t *testing.T) {
	all := map[string]http.Handler{}
	for name, s := range allServices(func(o *handlers.Options) {
		o.Addresses = map[string]string{
			"core-metadata": "http://edge:1", "core-data": "http://edge:2", "support-notifications": "http://edge:3",
		}
		o.Others = func() map[string]http.Handler { return all }
	}) {
		all[name] = s
	}
	h := all["core-metadata"]
	const notFound = "404 page not found\n"
	for request, want := range map[string]string{
		"GET /":                               notFound + "this is core-metadata; its paths are at http://edge:1/api/v2/docs\n",
		"GET /api/v2/devices":                 notFound + "this is core-metadata; its paths are at http://edge:1/api/v2/docs\n",
		"GET /api/v2/reading/all":             notFound + "this is core-metadata; core-data serves this path: http://edge:2/api/v2/reading/all\n",
		"GET /api/v2/event/device/name/a b":   notFound + "this is core-metadata; core-data serves this path: http://edge:2/api/v2/event/device/name/a%20b\n",
		"GET /api/v2/event/device/name/":      notFound + "this is core-metadata; its paths are at http://edge:1/api/v2/docs\n",
		"PATCH /api/v2/subscription":          notFound + "this is core-metadata; support-notifications serves this path: http://edge:3/api/v2/subscription\n",
		"PUT /api/v2/subscription":            notFound + "this is core-metadata; its paths are at http://edge:1/api/v2/docs\n",
		"POST /api/v2/resource/cam-1/jpeg":    notFound + "this is core-metadata; its paths are at http://edge:1/api/v2/docs\n",
		"POST /api/v2/secret":                 notFound + "this is core-metadata; its paths are at http://edge:1/api/v2/docs\n",
		"HEAD /api/v2/reading/id/1234/binary": notFound,
	} {
		method, path, _ := strings.Cut(request, " ")
		r := httptest.NewRequest(method, "http://edge:1/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || w.Body.String() != want {
			t.Errorf("%s: got %d %q, want %q", request, w.Code, w.Body, want)
		}
	}
}

func TestCorrelation(t *testing.T) {
	h, log := mustService(t, nil)
	for _, c := range []struct{ given, want string }{
		{"c3210b67-360c-5cd1-8ea6-a55beeceae92", "c3210b67-360c-5cd1-8ea6-a55beeceae92"},
		{"any thing ~", "any thing ~"},
		{strings.Repeat("x", 128), strings.Repeat("x", 128)},
		{strings.Repeat("x", 129), handlerstest.ID(1)},
		{"ü", handlerstest.ID(2)},
		{"a\tb", handlerstest.ID(3)},
		{"", handlerstest.ID(4)},
	} {
		w := handlerstest.Serve(h, "GET", "/api/v2/ping", "", "X-Correlation-ID: "+c.given)
		if got := w.Header().Get("X-Correlation-ID"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.given, got, c.want)
		}
	}
	handlerstest.Serve(h, "POST", "/api/v2/service", service("a"), "X-Correlation-ID: mine")
	if got := log.Recorded()[0].CorrelationID; got != "mine" {
		t.Errorf("recorded: got %q", got)
	}
}

// Each code has its status, and what is ours is logged once and not shown.
func TestErrors(t *testing.T) {
	var logged bytes.Buffer
	h, log := mustService(t, func(o *handlers.Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	for code, status := range map[domain.Code]int{
		domain.Invalid: 400, domain.NotFound: 404, domain.Conflict: 409, domain.Locked: 423, domain.NotAllowed: 405, domain.TooLarge: 413,
		domain.OutOfRange: 416, domain.Unavailable: 503, domain.Full: 507, domain.Stale: 412, domain.Internal: 500,
		domain.Unsupported: 501,
	} {
		logged.Reset()
		log.Fail = domain.Errorf(code, "the cause")
		w := handlerstest.Serve(h, "POST", "/api/v2/service", service("a"))
		shown := strings.Contains(w.Body.String(), `"message":"the cause","statusCode":`)
		if w.Code != status || shown != (code != domain.Internal) {
			t.Errorf("code %d: got %d %s", code, w.Code, w.Body)
		}
		if n := strings.Count(logged.String(), "level=ERROR"); n != 0 && code != domain.Internal || n != 1 && code == domain.Internal {
			t.Errorf("code %d: logged %q", code, &logged)
		}
	}
}

func TestPanic(t *testing.T) {
	var logged bytes.Buffer
	h, _ := mustService(t, func(o *handlers.Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	w := handlerstest.Serve(h, "DELETE", "/api/v2/service/name/a", "")
	if w.Code != 500 || w.Body.String() != `{"apiVersion":"v2","message":"internal error; the log has it under correlation id `+handlerstest.ID(1)+`","statusCode":500}`+"\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if !strings.Contains(logged.String(), "panic: boom") || !strings.Contains(logged.String(), "correlation="+handlerstest.ID(1)) {
		t.Errorf("logged: %s", &logged)
	}
	if w := handlerstest.Serve(h, "GET", "/api/v2/ping", ""); w.Code != 200 {
		t.Errorf("afterwards: got %d", w.Code)
	}
}

func TestAccessLog(t *testing.T) {
	var logged bytes.Buffer
	h, _ := mustService(t, func(o *handlers.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	handlerstest.Serve(h, "GET", "/api/v2/nosuch", "")
	if !strings.Contains(logged.String(), `msg="request served" service=core-metadata method=GET path=/api/v2/nosuch status=404`) {
		t.Errorf("logged: %s", &logged)
	}
}
