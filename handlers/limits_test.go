package handlers_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

func TestBatchLimits(t *testing.T) {
	h, log := mustService(t, func(o *handlers.Options) { o.BodyBytes, o.BatchElements = 1000, 3 })
	four := "[" + strings.Repeat("{},", 3) + "{}]"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "too many elements", Method: "POST", Path: "/api/v2/service", Body: four, Status: 413, Contains: []string{"the array has more than 3 elements, which is the limit; send several requests"}},
		{Name: "too many bytes", Method: "POST", Path: "/api/v2/service", Body: "[" + strings.Repeat(" ", 1000) + "]", Status: 413, Contains: []string{`{"apiVersion":"v2","message":"the body is longer than 1000 bytes, which is the limit; send less","statusCode":413}`}},
		{Name: "as many bytes as may be", Method: "POST", Path: "/api/v2/service", Body: service("a")[:len(service("a"))-1] + strings.Repeat(" ", 1000-len(service("a"))) + "]", Status: 207, Submits: 1},
	})
}

// A declared length over the limit is answered before the body comes.
func TestDeclaredLengthIsRefusedAtOnce(t *testing.T) {
	h, _ := mustService(t, func(o *handlers.Options) { o.BodyBytes = 1000 })
	c := mustDial(t, mustListen(t, h))
	mustWrite(t, c, "POST /api/v2/service HTTP/1.1", "Host: h", "Content-Length: 1001", "", "")
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != 413 || !r.Close {
		t.Errorf("got %d, close %t", r.StatusCode, r.Close)
	}
}

// A chunked body is refused when it passes the limit, although its end is not in sight.
func TestChunkedBodyIsRefusedAtTheLimit(t *testing.T) {
	h, log := mustService(t, func(o *handlers.Options) { o.BodyBytes = 1000 })
	c := mustDial(t, mustListen(t, h))
	mustWrite(t, c, "POST /api/v2/service HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "", "3e9", strings.Repeat(" ", 1001), "")
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != 413 || log.Submits() != 0 {
		t.Errorf("got %d, %d submits", r.StatusCode, log.Submits())
	}
}

func TestChunkedBody(t *testing.T) {
	h, log := mustService(t, nil)
	s := mustListen(t, h)
	r, err := http.Post(s.URL+"/api/v2/service", "", io.MultiReader(strings.NewReader(service("a")))) // of no known length
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 207 || len(log.Recorded()) != 1 {
		t.Errorf("got %d, %d events", r.StatusCode, len(log.Recorded()))
	}
}

// A client that dies in the middle of a body leaves nothing behind, and its place is free again.
func TestDyingClient(t *testing.T) {
	h, log := mustService(t, func(o *handlers.Options) { o.BodiesInFlight = 1 })
	served := make(chan int)
	s := mustListen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		served <- log.Submits()
	}))
	c := mustDial(t, s)
	mustWrite(t, c, "POST /api/v2/service HTTP/1.1", "Host: h", "Content-Length: 1000", "", service("a"))
	_ = c.Close()
	if n := <-served; n != 0 {
		t.Errorf("submits: got %d", n)
	}
	if w := handlerstest.Serve(h, "POST", "/api/v2/service", service("a")); w.Code != 207 {
		t.Errorf("afterwards: got %d %s", w.Code, w.Body)
	}
}

// A client that sends nothing more is answered when its time is over.
func TestSlowBody(t *testing.T) {
	h, log := mustService(t, func(o *handlers.Options) { o.BodyTimeout, o.BodyRate = 10*time.Millisecond, 1000 })
	c := mustDial(t, mustListen(t, h))
	mustWrite(t, c, "POST /api/v2/service HTTP/1.1", "Host: h", "Content-Length: 1000", "", "[")
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != 503 || !strings.Contains(string(body), "the body came too slowly: there must be 1000 bytes of it a second, or its end, in each 10ms; send it faster") || log.Submits() != 0 {
		t.Errorf("got %d %s", r.StatusCode, body)
	}
}

// deadlines records the read deadlines that are set on a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// The time limit of a body ends with the body: a command may take longer, and so may the connection.
func TestBodyTimeoutEndsWithTheBody(t *testing.T) {
	h, log := mustService(t, nil)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	submitted := false
	log.Before = func() {
		submitted = true
		if n := len(w.set); n < 2 || w.set[0].IsZero() || !w.set[n-1].IsZero() {
			t.Errorf("deadlines before the command: got %v", w.set)
		}
	}
	h.ServeHTTP(w, httptest.NewRequest("POST", "/api/v2/service", strings.NewReader(service("a"))))
	if !submitted {
		t.Error("nothing was submitted")
	}
}

func TestBodiesInFlight(t *testing.T) {
	h, log := mustService(t, func(o *handlers.Options) { o.BodiesInFlight = 1 })
	entered, leave := make(chan struct{}), make(chan struct{})
	log.Before = func() {
		entered <- struct{}{}
		<-leave
	}
	first := make(chan int)
	go func() { first <- handlerstest.Serve(h, "POST", "/api/v2/service", service("a")).Code }()
	<-entered
	w := handlerstest.Serve(h, "POST", "/api/v2/service", service("b"))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "too many requests with a body are being served: the limit is 1 in all and three quarters of it for one client; try again") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := handlerstest.Serve(h, "GET", "/api/v2/ping", ""); w.Code != 200 {
		t.Errorf("without a body: got %d", w.Code)
	}
	close(leave)
	if got := <-first; got != 207 {
		t.Errorf("first: got %d", got)
	}
}

func TestBodyMemory(t *testing.T) {
	const budget, share = 1740, 1305 // bytes: one body with two objects of 6 entries and one entry more, of 96, not two
	h, log := mustService(t, func(o *handlers.Options) { o.BodyMemory = budget })
	entered, leave := make(chan struct{}), make(chan struct{})
	log.Before = func() {
		entered <- struct{}{}
		<-leave
	}
	first := make(chan int)
	one := service("a")
	go func() { first <- handlerstest.Serve(h, "POST", "/api/v2/service", one).Code }()
	<-entered
	if n := len(one) + 13*96; n > share || n+len(one) <= share {
		t.Fatalf("bodies of %d bytes do not fit the test", len(one))
	}
	w := handlerstest.Serve(h, "POST", "/api/v2/service", service("b"))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "too many request bodies are in memory: the limit is 1740 bytes in all and three quarters of it for one client; try again") {
		t.Errorf("over the budget: got %d %s", w.Code, w.Body)
	}
	close(leave)
	if got := <-first; got != 207 {
		t.Errorf("first: got %d", got)
	}
	go func() { <-entered }()
	if w := handlerstest.Serve(h, "POST", "/api/v2/service", service("c")); w.Code != 207 {
		t.Errorf("after it: got %d %s", w.Code, w.Body)
	}
}

// A body that is announced and does not come takes no memory from others.
func TestIdleBodiesTakeNoMemory(t *testing.T) {
	h, _ := mustService(t, func(o *handlers.Options) { o.BodyMemory = 64 << 10 })
	s := mustListen(t, h)
	for _, length := range []string{"Content-Length: 40000", "Transfer-Encoding: chunked"} {
		for range 4 {
			c := mustDial(t, s)
			mustWrite(t, c, "POST /api/v2/service HTTP/1.1", "Host: h", length, "Expect: 100-continue", "", "")
			if _, err := c.Read(make([]byte, 1)); err != nil { // of 100 Continue: the body is being read
				t.Fatal(err)
			}
		}
	}
	if w := handlerstest.Serve(h, "POST", "/api/v2/service", service("a")); w.Code != 207 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// Deadlines hold where nobody reads the body: the connection ends, whatever the path or the method is.
func TestStalledBodyOfNoHandler(t *testing.T) {
	h, _ := mustService(t, func(o *handlers.Options) { o.BodyTimeout = 10 * time.Millisecond })
	s := mustListen(t, h)
	for _, request := range []string{"POST /unknown", "PUT /api/v2/service", "POST //api/v2/service", "POST /api/v2/a%2Fb", "GET /api/v2/ping", "POST /api/v2/ping"} {
		for _, length := range []string{"Content-Length: 10", "Transfer-Encoding: chunked"} {
			c := mustDial(t, s)
			mustWrite(t, c, request+" HTTP/1.1", "Host: h", length, "", "")
			if _, err := io.ReadAll(c); err != nil {
				t.Errorf("%s, %s: %v", request, length, err)
			}
		}
	}
}

// A client that does not read its answer is cut off, and with it goes what it held.
func TestSlowReader(t *testing.T) {
	long := strings.Repeat("x", 32<<20) // more than a socket buffers
	h, _ := mustService(t, func(o *handlers.Options) {
		o.WriteTimeout = 50 * time.Millisecond
		o.Config = func() any { return long }
	})
	served := make(chan struct{})
	c := mustDial(t, mustListen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		close(served)
	})))
	mustWrite(t, c, "GET /api/v2/config HTTP/1.1", "Host: h", "", "")
	select {
	case <-served:
	case <-time.After(time.Minute):
		t.Error("the answer is still being written")
	}
}

// An element that is too large is refused, and not those beside it.
func TestElementLimits(t *testing.T) {
	h, log := mustService(t, nil)
	n := 0
	beside := func(element string) string {
		n++
		return "[" + strings.Trim(service(fmt.Sprint("a", n)), "[]") + "," + element + "," + strings.Trim(service(fmt.Sprint("b", n)), "[]") + "]"
	}
	const head = `{"apiVersion":"v2","requestId":"6623c328-0620-5a9d-8127-b348c5933d07",`
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "too long", Method: "POST", Path: "/api/v2/service", Body: beside(head + `"a":"` + strings.Repeat(`\"`, 2<<20) + `"}`), Status: 207, Submits: 1, Contains: []string{
			`[{"apiVersion":"v2","statusCode":201,`, `{"apiVersion":"v2","requestId":"6623c328-0620-5a9d-8127-b348c5933d07","message":"the element is 4194381 bytes long, over the limit of 4194304 bytes`,
			`"statusCode":413},{"apiVersion":"v2","statusCode":201,`}},
		{Name: "too many entries", Method: "POST", Path: "/api/v2/service", Body: beside(head + `"service":{"tags":[""` + strings.Repeat(`,""`, 1_100_000) + `]}}`), Status: 207, Submits: 1, Contains: []string{
			`"message":"the entries of lists and objects take 105601440 bytes of memory, and of `, `send it in a request of its own, or split it","statusCode":413}`}},
		{Name: "too many objects", Method: "POST", Path: "/api/v2/service", Body: beside(head + `"service":{"tags":[{}` + strings.Repeat(`,{}`, 200_000) + `]}}`), Status: 207, Submits: 1, Contains: []string{"send it in a request of its own, or split it"}},
		{Name: "more than before", Method: "POST", Path: "/api/v2/service", Body: beside(head + `"service":{"name":"c","tags":[""` + strings.Repeat(`,""`, 100_000) + `]}}`), Status: 207, Submits: 1},
		{Name: "too long, and no JSON", Method: "POST", Path: "/api/v2/service", Body: beside(head + `"a":"` + strings.Repeat(`\"`, 2<<20) + `"x}`), Status: 400, Contains: []string{"the body is no JSON"}},
		{Name: "too long, and of another version", Method: "POST", Path: "/api/v2/service", Body: beside(`{"apiVersion":"v7","a":"` + strings.Repeat(`\"`, 2<<20) + `"}`), Status: 400, Contains: []string{`[1].apiVersion: \"v7\" is unknown`}},
		{Name: "too long, and no object", Method: "POST", Path: "/api/v2/service", Body: beside(`"` + strings.Repeat(`\"`, 3<<20) + `"`), Status: 400, Contains: []string{`[1]: a JSON string is not possible here`}},
	})
	h, log = mustService(t, func(o *handlers.Options) { o.BodyMemory = 1000 })
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "alone", Method: "POST", Path: "/api/v2/service", Body: `[{"apiVersion":"v2","a":[{},{}]}]`, Status: 207, Contains: []string{"the entries of lists and objects take 2016 bytes of memory", `"statusCode":413`}},
	})
}
