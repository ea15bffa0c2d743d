package rest

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/bridge/guard"
	"ledge/bridge/outward"
	"ledge/bridge/porttest"
)

var now = time.Date(2026, 11, 21, 7, 42, 5, 0, time.UTC)

func mustSender(t *testing.T, change func(*Options)) *Sender {
	t.Helper()
	o := Options{Dial: guard.New(guard.Options{}).DialContext}
	if change != nil {
		change(&o)
	}
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

// mustServe returns a Target at an HTTP server.
func mustServe(t *testing.T, h http.HandlerFunc) Target {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return targetOf(server)
}

func targetOf(server *httptest.Server) Target {
	addr := server.Listener.Addr().(*net.TCPAddr)
	return Target{Scheme: "http", Host: addr.IP.String(), Port: addr.Port, Path: "/", Method: "POST"}
}

var message = outward.Message{ContentType: "text/plain; charset=utf-8", Body: []byte(" Grüße \n"), CorrelationID: "c-1"}

func TestRequest(t *testing.T) {
	var got string
	target := mustServe(t, func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %s %s %q", r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("X-Correlation-ID"), b)
	})
	s := mustSender(t, nil)
	for _, c := range []struct{ method, path, contentType, want string }{
		{"POST", "/api/v2/x?a=b%20c&d", "", `POST /api/v2/x?a=b%20c&d application/json c-1 " Grüße \n"`},
		{"PUT", "/a%2Fb/%C3%BC", "text/plain; charset=utf-8", `PUT /a%2Fb/%C3%BC text/plain; charset=utf-8 c-1 " Grüße \n"`},
		{"GET", "/ü", "image/jpeg", `GET /%C3%BC image/jpeg c-1 " Grüße \n"`},
		{"PATCH", "", "a/b", `PATCH / a/b c-1 " Grüße \n"`},
		{"POST", "x/y?a=b", "a/b", `POST /x/y?a=b a/b c-1 " Grüße \n"`},
		{"POST", "?a=b", "a/b", `POST /?a=b a/b c-1 " Grüße \n"`},
		{"DELETE", "//x/../y", "a/b", `DELETE //x/../y a/b c-1 " Grüße \n"`},
	} {
		target.Method, target.Path = c.method, c.path
		m := message
		m.ContentType = c.contentType
		if response, err := s.Send(context.Background(), target, m); err != nil || response != "200 OK" || got != c.want {
			t.Errorf("%s %s: got %s, want %s; %q, %v", c.method, c.path, got, c.want, response, err)
		}
	}
}

// A receiver can tell repeats and the order.
func TestMarks(t *testing.T) {
	var got string
	target := mustServe(t, func(_ http.ResponseWriter, r *http.Request) {
		got = fmt.Sprint(r.Header.Get("ce-id"), " ", r.Header.Get("ce-time"), " ", r.Header.Get("ce-sequence"))
	})
	s, m := mustSender(t, nil), message
	m.NotificationID, m.At, m.Sequence = "6877ff35", now, 42
	if _, err := s.Send(context.Background(), target, m); err != nil || got != "6877ff35 2026-11-21T07:42:05.000Z 42" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStatuses(t *testing.T) {
	status, after := 0, ""
	target := mustServe(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Format(http.TimeFormat)) // the clock of the receiver, which is not that of this machine
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
		if status != 204 {
			fmt.Fprint(w, "because")
		}
	})
	s := mustSender(t, nil)
	for _, c := range []struct {
		status   int
		after    string
		response string
		ok, perm bool
		wait     time.Duration
	}{
		{200, "", "200 OK: because", true, false, 0},
		{201, "9", "201 Created: because", true, false, 0},
		{204, "", "204 No Content", true, false, 0},
		{301, "", "301 Moved Permanently: because", false, true, 0},
		{304, "", "304 Not Modified", false, true, 0},
		{400, "", "400 Bad Request: because", false, true, 0},
		{404, "", "404 Not Found: because", false, true, 0},
		{408, "", "408 Request Timeout: because", false, false, 0},
		{425, "", "425 Too Early: because", false, false, 0},
		{429, "30", "429 Too Many Requests: because", false, false, 30 * time.Second},
		{429, "99999999", "429 Too Many Requests: because", false, false, 24 * time.Hour},
		{499, "", "499: because", false, true, 0},
		{500, "-1", "500 Internal Server Error: because", false, false, 0},
		{503, now.Add(time.Minute).Format(http.TimeFormat), "503 Service Unavailable: because", false, false, time.Minute},
		{503, now.Add(-time.Minute).Format(http.TimeFormat), "503 Service Unavailable: because", false, false, 0},
		{503, "soon", "503 Service Unavailable: because", false, false, 0},
	} {
		status, after = c.status, c.after
		response, err := s.Send(context.Background(), target, message)
		wait := time.Duration(0)
		if e, ok := errors.AsType[*outward.Error](err); ok {
			wait = e.RetryAfter()
		}
		if response != c.response || (err == nil) != c.ok || outward.Permanent(err) != c.perm || wait != c.wait {
			t.Errorf("%d, Retry-After %q: got %q, %v, permanent %v, after %v; want %+v", c.status, c.after, response, err, outward.Permanent(err), wait, c)
		}
		if _, body, ok := strings.Cut(c.response, ":"); err != nil && ok && !strings.HasSuffix(err.Error(), ":"+body) {
			t.Errorf("%d: got %v, want what was answered in it", c.status, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	var code int
	var to, got string
	target := mustServe(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + string(b)
		if n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); r.URL.Path == "/" || n > 0 {
			w.Header().Set("Location", strings.ReplaceAll(to, "N", strconv.Itoa(n-1)))
			w.WriteHeader(code)
		}
	})
	s := mustSender(t, nil)
	self := fmt.Sprintf("http://%s:%d", target.Host, target.Port)
	for _, c := range []struct {
		name, method, path string
		code               int
		to, want           string // want is what arrives last, where it is delivered
	}{
		{"same place", "POST", "/", 307, "/there", "POST /there b"},
		{"in full", "PUT", "/", 308, self + "/there", "PUT /there b"},
		{"with another method", "POST", "/", 302, "/there", ""},
		{"see other", "POST", "/", 303, "/there", ""},
		{"without its body", "GET", "/", 302, "/there", ""},
		{"elsewhere", "POST", "/", 307, other.URL, ""},
		{"other scheme", "POST", "/", 307, "https" + self[4:] + "/there", ""},
		{"other host", "POST", "/", 307, strings.Replace(self, "127.0.0.1", "localhost", 1) + "/there", ""},
		{"three times", "POST", "/3", 307, "/N", "POST /0 b"},
		{"four times", "POST", "/4", 307, "/N", ""},
		{"no place", "POST", "/", 307, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, to = c.code, c.to
			target := target
			target.Method, target.Path = c.method, c.path
			_, err := s.Send(context.Background(), target, outward.Message{Body: []byte("b")})
			if c.want != "" && (err != nil || got != c.want) {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
			if c.want == "" && err == nil {
				t.Errorf("is called delivered; last was %q", got)
			}
			if c.want == "" && c.to != "" && (!outward.Permanent(err) || !strings.Contains(err.Error(), "redirects are followed to the same scheme")) {
				t.Errorf("got %v", err)
			}
		})
	}
	if elsewhere != 0 {
		t.Error("another server was asked")
	}
}

func TestResponseIsCut(t *testing.T) {
	target := mustServe(t, func(w http.ResponseWriter, _ *http.Request) {
		for line := []byte(strings.Repeat("ü", 999)); ; { // for ever
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	response, err := mustSender(t, nil).Send(context.Background(), target, message)
	want := outward.Cut("200 OK: " + strings.Repeat("ü", outward.ResponseBytes))
	if err != nil || response != want || len(response) != outward.ResponseBytes {
		t.Errorf("got %d bytes %.20q, %v", len(response), response, err)
	}
}

func TestTimeouts(t *testing.T) {
	stop := make(chan struct{})
	target := mustServe(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			fmt.Fprint(w, "begun")
			w.(http.Flusher).Flush()
		}
		<-stop
	})
	t.Cleanup(func() { close(stop) })
	s := mustSender(t, func(o *Options) { o.Timeout = 50 * time.Millisecond })
	response, err := s.Send(context.Background(), target, message)
	if err == nil || outward.Permanent(err) || response != "" {
		t.Errorf("no answer: got %q, %v", response, err)
	}
	target.Path = "/body"
	for try := 0; try < 1000 && response == ""; try++ { // until the first half comes in time
		response, err = s.Send(context.Background(), target, message)
	}
	if err != nil || response != "200 OK: begun (the answer broke off)" {
		t.Errorf("half an answer: got %q, %v", response, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := mustSender(t, nil).Send(ctx, target, message); err == nil || outward.Permanent(err) {
		t.Errorf("ended: got %v", err)
	}
}

// Requests one after the other take one connection; of many at once no more are kept than may be.
func TestConnectionsAreReused(t *testing.T) {
	var mu sync.Mutex
	opened, changed := 0, make(chan http.ConnState, 100)
	arrived, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", 3*outward.ResponseBytes)) // is drained
		if r.URL.Path == "/wait" {
			arrived <- struct{}{}
			<-release
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			opened++
		}
		if state == http.StateNew || state == http.StateClosed {
			changed <- state
		}
	}
	server.Start()
	defer server.Close()
	s, target := mustSender(t, nil), targetOf(server)
	for range 10 {
		if _, err := s.Send(context.Background(), target, message); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	if opened != 1 {
		t.Errorf("%d connections for 10 requests, want 1", opened)
	}
	mu.Unlock()
	target.Path = "/wait"
	const many = outward.IdlePerHost + 6
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			if _, err := s.Send(context.Background(), target, message); err != nil {
				t.Error(err)
			}
		})
	}
	for range many {
		<-arrived
	}
	close(release)
	all.Wait()
	for open := 0; open != outward.IdlePerHost || len(changed) > 0; {
		select {
		case state := <-changed:
			open += map[http.ConnState]int{http.StateNew: 1, http.StateClosed: -1}[state]
		case <-time.After(time.Minute):
			t.Fatalf("%d connections are kept, want %d", open, outward.IdlePerHost)
		}
	}
}

// An endpoint that dies and comes back is found again, also by way of a connection that was kept.
func TestDeadEndpoint(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	address := fmt.Sprint("127.0.0.1:", porttest.Hold(t))
	listen := func() net.Listener {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	server := &httptest.Server{Listener: listen(), Config: &http.Server{Handler: ok}}
	server.Start()
	s, target := mustSender(t, nil), targetOf(server)
	if _, err := s.Send(context.Background(), target, message); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := s.Send(context.Background(), target, message); err == nil || outward.Permanent(err) || !strings.Contains(err.Error(), "no answer from "+address) {
		t.Errorf("dead: got %v", err)
	}
	back := &http.Server{Handler: ok}
	go back.Serve(listen())
	defer back.Close()
	if _, err := s.Send(context.Background(), target, message); err != nil {
		t.Errorf("back: got %v", err)
	}
}

func TestHTTPS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	target := targetOf(server)
	target.Scheme = "https"
	if _, err := mustSender(t, nil).Send(context.Background(), target, message); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown certificate: got %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s := mustSender(t, func(o *Options) { o.Roots = roots })
	if _, err := s.Send(context.Background(), target, message); err != nil {
		t.Error(err)
	}
}

func TestRefusedDestination(t *testing.T) {
	target := mustServe(t, func(http.ResponseWriter, *http.Request) { t.Error("was asked") })
	s := mustSender(t, func(o *Options) {
		o.Dial = guard.New(guard.Options{Deny: guard.MustRules("127.0.0.0/8,::1")}).DialContext
	})
	for _, target.Host = range []string{"127.0.0.1", "localhost"} {
		if _, err := s.Send(context.Background(), target, message); !outward.Permanent(err) || !strings.Contains(err.Error(), "deny-destinations") {
			t.Errorf("%s: got %v", target.Host, err)
		}
	}
}

func TestBadTargets(t *testing.T) {
	fine := Target{Host: "127.0.0.1", Port: 1, Method: "POST", Path: "/x?token=hidden"}
	if _, err := mustSender(t, nil).Send(context.Background(), fine, message); outward.Permanent(err) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a fine target: got %v", err)
	}
	for want, change := range map[string]func(*Target){
		`path: "/%zz" is not a path`: func(t *Target) { t.Path = "/%zz" },
		`path: "/\r\nx" is`:          func(t *Target) { t.Path = "/\r\nx" },
	} {
		target := fine
		change(&target)
		_, err := mustSender(t, nil).Send(context.Background(), target, message)
		want = strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(want)
		if !outward.Permanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	m := outward.Message{ContentType: "a/b\r\nX: y"}
	if _, err := mustSender(t, nil).Send(context.Background(), fine, m); !outward.Permanent(err) || !strings.Contains(err.Error(), "contentType") {
		t.Errorf("content type: got %v", err)
	}
}
