package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/answers"
	"ledge/handlers/handlerstest"
)

const allDevices = "/api/v2/device/all?limit=-1"

// sized is a state that says how long its devices are.
type sized struct{ domain.Table[domain.Device] }

// GetWithin implements domain.Sized.
func (t sized) GetWithin(key string, most int, into *domain.Device) (r domain.Row) {
	d, ok := t.Get(key)
	if r.Size = len(d.Description); ok && r.Size <= most {
		*into, r.OK = d, true
	}
	return r
}

// mustSized returns the service with so many devices that have a description of so many bytes each.
func mustSized(tb testing.TB, devices, bytes int, change func(*handlers.Options)) (http.Handler, *handlerstest.Log) {
	tb.Helper()
	_, log := mustMetadata(tb)
	for i := range devices {
		log.Given(tb, domain.AddDevice{Device: domain.Device{
			ID: handlerstest.ID(100 + i), Name: fmt.Sprintf("d-%d", i), ServiceName: domain.DeviceREST, ProfileName: "camera", Description: strings.Repeat("x", bytes),
			AdminState: domain.StateUnlocked, OperatingState: domain.StateUp, ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
		}})
	}
	o := handlerstest.Options("core-metadata")
	change(&o)
	return New(o, func() (domain.View, func()) {
		view, done := log.View()
		view.State.Devices = sized{view.State.Devices}
		return view, done
	}, log, handlerstest.Identities{Log: log}, Ledger{Past: log.Past(), Events: log.Events()}), log
}

// onWrite calls f before each write.
type onWrite struct {
	*httptest.ResponseRecorder
	f      func()
	writes int
}

func (w *onWrite) Write(p []byte) (int, error) {
	w.writes++
	w.f()
	return w.ResponseRecorder.Write(p)
}

func listed(tb testing.TB, h http.Handler, f func()) (names []string, w *onWrite) {
	tb.Helper()
	w = &onWrite{ResponseRecorder: httptest.NewRecorder(), f: f}
	h.ServeHTTP(w, httptest.NewRequest("GET", allDevices, nil))
	var got struct {
		TotalCount int
		Devices    []struct{ Name string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		tb.Fatalf("%d %v: %.200s", w.Code, err, w.Body)
	}
	for _, d := range got.Devices {
		names = append(names, d.Name)
	}
	return names, w
}

// A page is sent in parts, of which only one is in memory. Nothing of the state is held while the client reads, and what is
// removed or changed meanwhile shows as it is then.
func TestListInParts(t *testing.T) {
	for _, bytes := range []int{1000, 100_000} {
		h, log := mustSized(t, 100, bytes, func(*handlers.Options) {})
		first := true
		names, w := listed(t, h, func() {
			_, done := log.View() // which would wait for ever
			done()
			if first {
				log.Given(t, domain.RemoveDevice{Name: "d-3"}) // near the end: the newest come first
			}
			first = false
		})
		parts := 100 * bytes / (64<<10 + bytes)
		if !strings.Contains(w.Body.String(), `"totalCount":101`) || len(names) != 100 || names[97] != "d-2" || w.writes < parts || w.Header().Get("Content-Length") != "" {
			t.Errorf("%d bytes: got %d names, %d writes, %v", bytes, len(names), w.writes, w.Header())
		}
	}
}

// A page that fits in one part is sent at once, with its length.
func TestListAtOnce(t *testing.T) {
	h, _ := mustSized(t, 10, 100, func(*handlers.Options) {})
	names, w := listed(t, h, func() {})
	if len(names) != 11 || w.writes != 1 || w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
		t.Errorf("got %d names, %d writes, %v", len(names), w.writes, w.Header())
	}
}

// What large entities take in memory is bounded for all answers together: the next waits, and is refused in the end. Others need none.
func TestMemoryOfAnswers(t *testing.T) {
	h, _ := mustSized(t, 3, 100_000, func(o *handlers.Options) { o.BodyMemory, o.WriteTimeout = 300_000, time.Millisecond })
	first := true
	refused := func() {
		if !first {
			return
		}
		first = false
		for _, path := range []string{allDevices, "/api/v2/device/name/d-1"} {
			if w := handlerstest.Serve(h, "GET", path, ""); w.Code != 503 || !strings.Contains(w.Body.String(), "three quarters of that for this client") {
				t.Errorf("%s: got %d %.200s", path, w.Code, w.Body)
			}
		}
		if w := handlerstest.Serve(h, "GET", "/api/v2/device/name/cam-1", ""); w.Code != 200 {
			t.Errorf("a small one: got %d %s", w.Code, w.Body)
		}
	}
	names, w := listed(t, h, refused)
	if len(names) != 4 || w.writes < 3 {
		t.Errorf("got %v in %d writes", names, w.writes)
	}
	if names, _ := listed(t, h, func() {}); len(names) != 4 {
		t.Errorf("after it: got %v", names)
	}
}

// A state that cannot be read in the middle of a page breaks the connection.
func TestListBreaksOff(t *testing.T) {
	h, log := mustSized(t, 100, 10_000, func(*handlers.Options) {})
	w := &onWrite{ResponseRecorder: httptest.NewRecorder(), f: func() { log.Fail, log.Unreadable = errors.New("boom"), true }}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("got %v", p)
		}
		if strings.HasSuffix(w.Body.String(), "]}\n") {
			t.Error("the answer looks whole")
		}
	}()
	h.ServeHTTP(w, httptest.NewRequest("GET", allDevices, nil))
}

// A message quotes what is wrong, but not all of a long value.
func TestMessageIsCut(t *testing.T) {
	h, _ := mustMetadata(t)
	w := handlerstest.Serve(h, "GET", "/api/v2/device/all?offset="+strings.Repeat("x", 20_000), "")
	if got := w.Body.String(); w.Code != 400 || w.Body.Len() > 5000 || !strings.Contains(got, `querystring offset's value \"xxx`) || !strings.Contains(got, "…") {
		t.Errorf("got %d with %d bytes: %.100s", w.Code, w.Body.Len(), got)
	}
}

// tracked is a state that tells whether the device that was read last is still in memory.
type tracked struct {
	sized
	last *weak.Pointer[string]
}

func (t tracked) GetWithin(key string, most int, into *domain.Device) domain.Row {
	r := t.sized.GetWithin(key, most, into)
	if r.OK && r.Size > answers.LargeBytes {
		into.Labels = []string{strings.Repeat("label", 2), key}
		*t.last = weak.Make(&into.Labels[0])
	}
	return r
}

// A large entity is not in memory any more when its text is sent, because the memory that was held for it is given back then.
func TestSentEntityIsDropped(t *testing.T) {
	var last weak.Pointer[string]
	_, log := mustSized(t, 3, 100_000, func(*handlers.Options) {})
	h := New(handlerstest.Options("core-metadata"), func() (domain.View, func()) {
		view, done := log.View()
		view.State.Devices = tracked{sized{view.State.Devices}, &last}
		return view, done
	}, log, handlerstest.Identities{Log: log}, Ledger{Past: log.Past(), Events: log.Events()})
	names, w := listed(t, h, func() {
		runtime.GC()
		if last.Value() != nil {
			t.Error("the entity is in memory while its text is sent")
		}
	})
	if len(names) != 4 || w.writes < 3 || last == (weak.Pointer[string]{}) {
		t.Errorf("%d names, %d writes", len(names), w.writes)
	}
}
