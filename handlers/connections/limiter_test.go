package connections

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// rig is two services within limits. A request to /wait has its answer when something is sent to release.
type rig struct {
	t        *testing.T
	limiter  *Limiter
	address  map[string]string
	entered  chan struct{}
	released chan struct{}
}

func newRig(t *testing.T, limits Limits) *rig {
	r := &rig{t, New(limits, slog.New(slog.DiscardHandler)), map[string]string{}, make(chan struct{}), make(chan struct{})}
	for _, service := range []string{"a", "b"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r.address[service] = l.Addr().String()
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/wait" {
				r.entered <- struct{}{}
				<-r.released
			}
			_, _ = io.WriteString(w, Client(req))
		})}
		served := make(chan error)
		go func() { served <- r.limiter.Serve(srv, service, l, nil) }()
		t.Cleanup(func() {
			srv.Close()
			<-served
		})
	}
	return r
}

// client is a connection from an address.
type client struct {
	net.Conn
	in *bufio.Reader
}

func (r *rig) dial(service, from string) client {
	r.t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", r.address[service])
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return client{c, bufio.NewReader(c)}
}

// get returns the body of an answer, or "" where the connection is closed.
func (c client) get(path string) string {
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return ""
	}
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

func (r *rig) want(service, from string, c client) {
	r.t.Helper()
	if got := c.get("/"); got != from {
		r.t.Errorf("from %s to %s: got %q", from, service, got)
	}
}

func (r *rig) open(service, from string) client {
	r.t.Helper()
	c := r.dial(service, from)
	r.want(service, from, c)
	return c
}

func (r *rig) counted(want Counts) {
	r.t.Helper()
	if got := r.limiter.Counts(); got != want {
		r.t.Errorf("got %+v, want %+v", got, want)
	}
}

// idle waits until the limiter knows that the client's connection has no request in work: net/http says so after the answer.
func (r *rig) idle(n int) {
	for {
		idle := 0
		r.limiter.mu.Lock()
		for c := range r.limiter.open {
			if c.idle.Load() > busy {
				idle++
			}
		}
		r.limiter.mu.Unlock()
		if idle == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestTotal(t *testing.T) {
	r := newRig(t, Limits{Total: 3, Service: 3, Client: 3})
	const one, two = "127.0.0.1", "127.0.0.2"
	other := r.open("a", two)
	r.idle(1)
	first := r.open("a", one)
	r.idle(2)
	second := r.open("b", one)
	r.idle(3)
	third := r.open("a", one)
	r.idle(3)
	r.counted(Counts{Open: 3, Closed: 1})
	if first.get("/") != "" {
		t.Error("the longest idle connection of the client with the most is still open")
	}
	for from, c := range map[string]client{two: other, one: second} {
		r.want("a", from, c)
	}
	r.want("a", one, third)
}

func TestServiceLimit(t *testing.T) {
	r := newRig(t, Limits{Total: 10, Service: 2, Client: 10})
	const one = "127.0.0.1"
	other := r.open("b", one)
	first := r.open("a", one)
	r.idle(2)
	second := r.open("a", one)
	r.idle(3)
	third := r.open("a", one)
	r.counted(Counts{Open: 3, Closed: 1})
	if first.get("/") != "" {
		t.Error("the longest idle connection of the service is still open")
	}
	for _, c := range []client{other, second, third} {
		r.want("a", one, c)
	}
}

// A connection with a request in work is not closed; the next one is refused.
func TestBusy(t *testing.T) {
	r := newRig(t, Limits{Total: 8, Service: 8, Client: 1})
	const one, two = "127.0.0.1", "127.0.0.2"
	first := r.dial("a", one)
	answer := make(chan string)
	go func() { answer <- first.get("/wait") }()
	<-r.entered
	if got := r.dial("b", one).get("/"); got != "" {
		t.Errorf("the second connection of a client: got %q", got)
	}
	r.counted(Counts{Open: 1, Refused: 1})
	r.open("a", two)
	r.released <- struct{}{}
	if got := <-answer; got != one {
		t.Errorf("the first: got %q", got)
	}
	r.idle(2)
	r.open("b", one)
	r.counted(Counts{Open: 2, Closed: 1, Refused: 1})
}

// Without a number for clients, each has three times what is free for others.
func TestSharesOfConnections(t *testing.T) {
	r := newRig(t, Limits{Total: 8, Service: 8})
	const one, two = "127.0.0.1", "127.0.0.2"
	for i := range 8 {
		r.open("a", one)
		r.idle(min(i+1, 6))
	}
	r.counted(Counts{Open: 6, Closed: 2})
	for range 2 {
		r.open("a", two)
	}
	r.counted(Counts{Open: 8, Closed: 2})
}

// A client with many requests in work does not have the idle connections of others closed.
func TestBusyClientTakesNoConnections(t *testing.T) {
	r := newRig(t, Limits{Total: 4, Service: 4, Client: 4})
	const one, two = "127.0.0.1", "127.0.0.2"
	other := r.open("a", two)
	r.idle(1)
	var answers sync.WaitGroup
	for range 3 {
		c := r.dial("a", one)
		answers.Go(func() { c.get("/wait") })
		<-r.entered
	}
	if got := r.dial("a", one).get("/"); got != "" {
		t.Errorf("one more: got %q", got)
	}
	r.want("a", two, other)
	for range 3 {
		r.released <- struct{}{}
	}
	answers.Wait()
	r.counted(Counts{Open: 4, Refused: 1})
}

// Of the service, too, a client has three times what is free.
func TestSharesOfAService(t *testing.T) {
	r := newRig(t, Limits{Total: 100, Service: 8})
	const one, two = "127.0.0.1", "127.0.0.2"
	var answers sync.WaitGroup
	for range 6 {
		c := r.dial("a", one)
		answers.Go(func() { c.get("/wait") })
		<-r.entered
	}
	if got := r.dial("a", one).get("/"); got != "" {
		t.Errorf("one more: got %q", got)
	}
	r.open("a", two)
	r.open("b", one)
	for range 6 {
		r.released <- struct{}{}
	}
	answers.Wait()
}

// Long headers under way are limited; short ones are not, and a client that sends no whole header gives way to others.
func TestLongHeaders(t *testing.T) {
	r := newRig(t, Limits{Total: 1000, Service: 1000, Client: 1000})
	long := "GET / HTTP/1.1\r\nHost: h\r\nA: " + strings.Repeat("b", shortHeader)
	share := mostLongHeaders - mostLongHeaders/4
	var all []client
	for range share {
		c := r.dial("a", "127.0.0.1")
		fmt.Fprint(c, long)
		all = append(all, c)
	}
	held := func() int {
		r.limiter.mu.Lock()
		defer r.limiter.mu.Unlock()
		return r.limiter.allLong
	}
	for held() < share {
		time.Sleep(time.Millisecond)
	}
	c := r.dial("a", "127.0.0.1")
	fmt.Fprint(c, long)
	if _, err := c.in.ReadByte(); err == nil {
		if line, _ := c.in.ReadString('\n'); !strings.Contains(line, "400") {
			t.Errorf("one long header too many: %q", line)
		}
	}
	r.open("a", "127.0.0.1")
	other := r.dial("a", "127.0.0.2")
	fmt.Fprint(other, long)
	for _, c := range append(all, other) {
		fmt.Fprint(c, "\r\n\r\n")
		if resp, err := http.ReadResponse(c.in, nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
	}
	if n := held(); n != 0 {
		t.Errorf("%d long headers are held", n)
	}
}

// TestTwoLengths holds that a request with Content-Length and Transfer-Encoding is refused, and its connection closed. Before, net/http dropped the
// length, so that a proxy that believed it passed on a second request unseen.
func TestTwoLengths(t *testing.T) {
	r := newRig(t, Limits{Total: 10, Service: 10, Client: 10})
	const chunked, sized = "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n"
	for _, c := range []struct {
		headers string
		status  int
	}{
		{chunked, http.StatusOK},
		{sized, http.StatusOK},
		{chunked + sized, http.StatusBadRequest},
		{sized + chunked, http.StatusBadRequest},
		{"CONTENT-length:5\r\nA: b\r\ntransfer-ENCODING:chunked\r\n", http.StatusBadRequest},
		{"Content-Length : 5\r\n" + chunked, http.StatusBadRequest},
		{"X-Content-Length: 5\r\nA: Content-Length: 5\r\n" + chunked, http.StatusOK},
	} {
		second := r.open("a", "127.0.0.1")
		r.idle(1)
		fmt.Fprintf(second, "POST / HTTP/1.1\r\nHost: h\r\n%s\r\n", c.headers)
		fmt.Fprint(second, "0\r\n\r\n")
		resp, err := http.ReadResponse(second.in, nil)
		if err != nil || resp.StatusCode != c.status {
			t.Errorf("%q: got %v, %v, want %d", c.headers, resp, err, c.status)
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if c.status == http.StatusBadRequest && second.get("/") != "" {
			t.Errorf("%q: the connection goes on", c.headers)
		}
		second.Close()
		r.idle(0)
	}
}
