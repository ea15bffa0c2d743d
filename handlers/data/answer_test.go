package data

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// mustPost posts a value of so many bytes that is beside the log.
func mustPost(tb testing.TB, f fixture, id string, n int) {
	tb.Helper()
	big := `"id":"` + handlerstest.ID(701) + `","valueType":"Binary","mediaType":"a/b","binaryValue":"` + strings.Repeat("////", n/3) + `"`
	if w := handlerstest.Serve(f, "POST", path, posted(id, big)); w.Code != 201 {
		tb.Fatalf("got %d %.200s", w.Code, w.Body)
	}
}

func mustListen(tb testing.TB, h http.Handler) *httptest.Server {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s
}

// An answer that breaks off is none: the client sees that the connection ends.
func TestBrokenAnswer(t *testing.T) {
	f := mustData(t)
	id := handlerstest.ID(700)
	mustPost(t, f, id, 300_000)
	f.payloads.broken = true
	s := mustListen(t, f)
	for path, accept := range map[string]string{
		"/event/id/" + id: "application/json", "/reading/all": "application/cbor", "/reading/id/" + handlerstest.ID(701) + "/binary": "*/*",
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+api+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) || len(body) < 100_000 {
			t.Errorf("%s: got %d with %d bytes, %v", path, resp.StatusCode, len(body), err)
		}
	}
}

// What cannot be read before anything was sent is an answer like any other.
func TestUnreadableValue(t *testing.T) {
	f := mustData(t)
	f.log.Fail = errors.New("boom")
	s := handlerstest.Scenario{Name: "event", Method: "GET", Path: api + "/event/id/" + eventID, Status: 500, Contains: []string{"internal error"}, WantHeader: []string{"ETag"}}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{s})
}

// onWrite calls f before each write, and records the deadlines.
type onWrite struct {
	*httptest.ResponseRecorder
	f         func()
	deadlines int
}

func (w *onWrite) Write(p []byte) (int, error) {
	w.f()
	return w.ResponseRecorder.Write(p)
}

func (w *onWrite) SetWriteDeadline(time.Time) error {
	w.deadlines++
	return nil
}

// Nothing of the state is held while a client reads, and the client has its time anew for each part.
func TestAnswerHoldsNothing(t *testing.T) {
	f := mustData(t)
	mustPost(t, f, handlerstest.ID(700), 1_200_000)
	const image = "/reading/id/" + readingID + "/binary"
	for path, parts := range map[string]int{"/event/all": 25, "/reading/id/" + handlerstest.ID(701) + "/binary": 18, image: 1} {
		w := &onWrite{ResponseRecorder: httptest.NewRecorder()}
		w.f = func() {
			_, done := f.log.View() // which would wait for ever
			done()
		}
		f.ServeHTTP(w, httptest.NewRequest("GET", api+path, nil))
		if w.Code != 200 || w.deadlines < parts {
			t.Errorf("%s: got %d, %d deadlines, want %d or more", path, w.Code, w.deadlines, parts)
		}
	}
}

// A client that reads nothing is cut off.
func TestStalledReader(t *testing.T) {
	f := mustData(t, func(o *handlers.Options) { o.WriteTimeout = time.Second })
	mustPost(t, f, handlerstest.ID(700), 9_000_000)
	served := make(chan struct{})
	s := mustListen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		f.ServeHTTP(w, r)
	}))
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET "+api+"/event/all HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-served
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Errorf("the client got all of the answer, %d bytes", n)
	}
}

// The values that answers have in memory are bounded.
func TestValuesInMemory(t *testing.T) {
	f := mustData(t, func(o *handlers.Options) { o.BodyMemory, o.WriteTimeout = 50_000, time.Millisecond })
	const image = api + "/reading/id/" + readingID + "/binary"
	w := &onWrite{ResponseRecorder: httptest.NewRecorder()}
	w.f = func() {
		if second := handlerstest.Serve(f, "GET", image, ""); second.Code != 503 || !strings.Contains(second.Body.String(), "three quarters of that for this client") {
			t.Errorf("the second: got %d %s", second.Code, second.Body)
		}
		if short := handlerstest.Serve(f, "GET", api+"/reading/resourceName/temperature", ""); short.Code != 200 {
			t.Errorf("what needs no memory: got %d %s", short.Code, short.Body)
		}
	}
	f.ServeHTTP(w, httptest.NewRequest("GET", image, nil))
	if again := handlerstest.Serve(f, "GET", image, ""); w.Code != 200 || again.Code != 200 {
		t.Errorf("got %d, then %d", w.Code, again.Code)
	}
}

// An event that is removed while a page is written is left out of it, and so are its readings from then on.
func TestRemovedMeanwhile(t *testing.T) {
	f := mustData(t)
	long := `"valueType":"String","value":"` + strings.Repeat("x", 300) + `"`
	for i := range 3 { // more than is made before the first of it is sent
		var readings []string
		for range 100 {
			readings = append(readings, long)
		}
		if w := handlerstest.Serve(f, "POST", path, posted(handlerstest.ID(900+i), readings...)); w.Code != 201 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
	w := &onWrite{ResponseRecorder: httptest.NewRecorder()}
	first := true
	w.f = func() {
		if first {
			f.log.Given(t, domain.RemoveDataEvent{ID: eventID}) // the last of the page
		}
		first = false
	}
	f.ServeHTTP(w, httptest.NewRequest("GET", api+"/event/all", nil))
	if got := w.Body.String(); strings.Contains(got, eventID) || !strings.Contains(got, `"totalCount":4`) || strings.Count(got, long) != 300 {
		t.Errorf("got %.300s, %d readings", got, strings.Count(got, long))
	}
}

// A client that stops reading has one value in memory, so that others read meanwhile, and gets all of its page in the end.
func TestSlowReaderHoldsOneValue(t *testing.T) {
	f := mustData(t, func(o *handlers.Options) { o.BodyMemory, o.WriteTimeout = 1<<20, time.Minute })
	value := strings.Repeat("////", 40_000) // 120,000 bytes, decoded
	binary := `"valueType":"Binary","mediaType":"a/b","binaryValue":"` + value + `"`
	if w := handlerstest.Serve(f, "POST", path, posted(handlerstest.ID(700), binary, binary, binary)); w.Code != 201 {
		t.Fatalf("got %d %.200s", w.Code, w.Body)
	}
	all := func(w http.ResponseWriter) { f.ServeHTTP(w, httptest.NewRequest("GET", api+"/event/all", nil)) }
	w := &onWrite{ResponseRecorder: httptest.NewRecorder()}
	first := true
	w.f = func() {
		if first {
			first = false
			other := httptest.NewRecorder()
			all(other) // which does not go on before the first is slow
			if other.Code != 200 || strings.Count(other.Body.String(), value) != 3 {
				t.Errorf("the other: got %d with %d bytes", other.Code, other.Body.Len())
			}
		}
	}
	all(w)
	if w.Code != 200 || strings.Count(w.Body.String(), value) != 3 {
		t.Errorf("the slow one: got %d with %d bytes", w.Code, w.Body.Len())
	}
}
