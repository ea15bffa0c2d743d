package devicerest

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

// large says that all its entities take so many bytes.
type large[S any] struct {
	domain.Table[S]
	bytes int
}

// GetWithin implements domain.Sized.
func (t large[S]) GetWithin(key string, most int, into *S) (r domain.Row) {
	s, ok := t.Get(key)
	if r.Size = t.bytes; ok && r.Size <= most {
		*into, r.OK = s, true
	}
	return r
}

// While a body comes, there is memory for its device and profile, where these are large. What passes the bound waits, and is refused in the end.
func TestLargeDevice(t *testing.T) {
	_, log, payloads := mustDeviceREST(t)
	o := handlerstest.Options("device-rest")
	o.BodyMemory, o.WriteTimeout = 200_000, time.Millisecond
	h := New(o, func() (domain.View, func()) {
		view, done := log.View()
		view.State.Devices = large[domain.Device]{view.State.Devices, 30_000}
		view.State.Profiles = large[domain.Profile]{view.State.Profiles, 40_000}
		return view, done
	}, log, log, payloads)
	const plain = "Content-Type: text/plain"
	const path = "/api/v2/resource/cam-1/vInt32"
	body := &onRead{strings.NewReader("5"), func() {
		if w := handlerstest.Serve(h, "POST", path, "6", plain); w.Code != 503 || !strings.Contains(w.Body.String(), "three quarters of that for this client") {
			t.Errorf("the second: got %d %s", w.Code, w.Body)
		}
	}}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", path, body)
	r.Header.Set("Content-Type", "text/plain")
	h.ServeHTTP(w, r)
	if again := handlerstest.Serve(h, "POST", path, "6", plain); w.Code != 200 || again.Code != 200 {
		t.Errorf("got %d %s, then %d %s", w.Code, w.Body, again.Code, again.Body)
	}
}

// onRead calls f before each read.
type onRead struct {
	io.Reader
	f func()
}

func (o *onRead) Read(p []byte) (int, error) {
	o.f()
	return o.Reader.Read(p)
}
