package console

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// testContext is that of a request to s.
func testContext(t *testing.T, _ *Console) *gin.Context {
	t.Helper()
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	return c
}

func TestProblemsOfFields(t *testing.T) {
	s := fixture(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = w.Write([]byte(`[{"statusCode":201},{"statusCode":400,"message":"much is wrong","errors":[
			{"path":"[1].device.name","value":"a b","cure":"use only letters"},{"path":"[1].device.protocols.rest","cure":"give one"},{"path":"[1].device.nameless","cure":"no"}]}]`))
	})
	a := s.call(testContext(t, s), metadataService, http.MethodPost, "/api/v2/device", []any{})
	if a.ok() || a.Status != 400 || a.Message != "much is wrong" {
		t.Fatalf("got %+v", a)
	}
	for field, want := range map[string]string{"name": "a b: use only letters", "protocols": "give one", "description": ""} {
		if got := a.Problems.Of(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

// TestFieldOfCure has a refusal that depends on other entities shown beside its field.
func TestFieldOfCure(t *testing.T) {
	for message, field := range map[string]string{
		`device "a": device profile "b" does not exist; upload it first or correct profileName`:             "profileName",
		`device "a": device service "b" does not exist; add it first or correct serviceName`:                "serviceName",
		`device name "a" exists already; choose another name or change the one that is there`:               "name",
		`device profile "a" is in use (devices and provision watchers: 1); remove them or give them others`: "",
	} {
		s := fixture(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]any{"statusCode": http.StatusNotFound, "message": message})
		})
		a := s.call(testContext(t, s), metadataService, http.MethodPost, "/api/v2/device", []any{})
		for _, name := range []string{"name", "profileName", "serviceName"} {
			if got, want := a.Problems.Of(name) == message, name == field; got != want {
				t.Errorf("%s: beside %s: %v, want %v", message, name, got, want)
			}
		}
	}
}

// endlessChanges is a log of changes in which each event changes the device hall and names the event before.
type endlessChanges struct{ read int }

func (*endlessChanges) Last() uint64 { return 100_000 }

func (c *endlessChanges) At(_ context.Context, seq uint64) (domain.Recorded, bool, error) {
	c.read++
	return domain.Recorded{Seq: seq, Event: domain.DevicePatched{Update: domain.Update{Name: "hall", Prev: seq - 1}}}, true, nil
}

func (*endlessChanges) Read(context.Context, uint64, uint64, func(domain.Recorded) error) error {
	return nil
}

// TestHistoryIsBounded looks for a version that is further back than one page goes: the page says so, and offers the changes before.
func TestHistoryIsBounded(t *testing.T) {
	s, log := fixture(t, nil), &endlessChanges{}
	s.Changes = log
	for seq, further := range map[uint64]uint64{100_000 - mostUndone + 1: 0, 100_000 - mostUndone: 100_000 - mostUndone} {
		h := historyData{Name: "hall"}
		log.read = 0
		err := s.reconstruct(t.Context(), &h, domain.Device{Name: "hall"}, log.Last(), func(r domain.Recorded) bool { return r.Seq == seq })
		if err != nil || h.Further != further || (h.Then == nil) != (further > 0) || (h.Missing == "") != (further == 0) || log.read != mostUndone {
			t.Errorf("event %d: further %d, want %d; %d events read, want %d; %q, %v", seq, h.Further, further, log.read, mostUndone, h.Missing, err)
		}
	}
}

// TestStateSet looks for the change that set the admin state no further back than the limit.
func TestStateSet(t *testing.T) {
	s, log := fixture(t, nil), &endlessChanges{}
	s.Changes = log
	set, err := s.stateSet(t.Context(), "hall", log.Last())
	if err != nil || log.read != mostStateLook || set.Actor != "" || set.Before == 0 {
		t.Errorf("read %d events, want %d: %+v, %v", log.read, mostStateLook, set, err)
	}
}

func TestNextPage(t *testing.T) {
	for next, want := range map[string]string{
		"/devices?q=x": "/devices?q=x", "": "/", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "/a\r\nb": "/", "devices": "/",
	} {
		if got := nextPage(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

func TestEndpointName(t *testing.T) {
	for endpoint, want := range map[string]string{
		"REST/127.0.0.1/8080":              "REST 127.0.0.1:8080",
		"REST/127.0.0.1/8080/in/a":         "REST 127.0.0.1:8080/in/a",
		"REST/::1/8080/in":                 "REST [::1]:8080/in",
		"MQTT/broker/8883/tls/site/alarms": "MQTT broker:8883/tls/site/alarms",
		"EMAIL//0":                         "EMAIL",
		"EMAIL/mail/0":                     "EMAIL mail",
	} {
		if got := endpointName(endpoint); got != want {
			t.Errorf("%s: got %q, want %q", endpoint, got, want)
		}
	}
}

// people are users with the password "right".
type people map[string]domain.User

func (p people) User(name string) (u domain.User, ok bool) { u, ok = p[name]; return u, ok }

func (p people) Users() (all []domain.User, err error) {
	for _, u := range p {
		all = append(all, u)
	}
	return all, nil
}

func (people) AddUser(context.Context, string, string, domain.Role, string, bool) error { return nil }
func (people) SetRole(context.Context, string, string, domain.Role) error               { return nil }
func (people) SetPassword(context.Context, string, string, string, bool) error          { return nil }
func (people) RemoveUser(context.Context, string, string) error                         { return nil }

// fixture returns a console with the users of people, and a service that answers as service does.
func fixture(t *testing.T, service http.HandlerFunc) *Console {
	t.Helper()
	s := New(Options{
		Options: handlers.Options{Service: "console", Logger: slog.New(slog.DiscardHandler), BodyBytes: 1 << 10},
		Users:   people{"anna": {Name: "anna", Role: domain.Admin, Credential: "1"}}, Idle: time.Hour,
		Services: map[string]http.Handler{metadataService: service},
		Password: func(_ context.Context, name, password, _ string) (domain.Identity, error) {
			if name != "anna" || password != "right" {
				return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "wrong")
			}
			return domain.Identity{Actor: "user:anna", Role: domain.Admin}, nil
		},
	})
	t.Cleanup(s.Close)
	return s
}

// login returns the cookie of a session of anna.
func login(t *testing.T, s *Console) *http.Cookie {
	t.Helper()
	form := url.Values{"username": {"anna"}, "password": {"right"}}
	r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusSeeOther || len(w.Result().Cookies()) != 1 {
		t.Fatalf("login: %d %s", w.Code, w.Body)
	}
	return w.Result().Cookies()[0]
}

func get(s *Console, path string, cookie *http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.AddCookie(cookie)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestSessionsAreBounded(t *testing.T) {
	s := fixture(t, nil)
	first := login(t, s)
	for range mostSessions - 1 {
		login(t, s)
	}
	if got := get(s, "/account", first).Code; got != http.StatusOK {
		t.Fatalf("at the bound: %d", got)
	}
	// The request has put the end of the first session off, so the second one gives way.
	login(t, s)
	if n := len(s.sessions.Store.(*sessionStore).sessions); n != mostSessions {
		t.Errorf("%d sessions, want %d", n, mostSessions)
	}
	if got := get(s, "/account", first).Code; got != http.StatusOK {
		t.Errorf("the session that was used last has ended: %d", got)
	}
}

// TestIdleSessionEnds ends a session that its user does not use. What an open page loads by itself does not keep it alive.
func TestIdleSessionEnds(t *testing.T) {
	s := fixture(t, nil)
	s.sessions.IdleTimeout = 200 * time.Millisecond
	cookie := login(t, s)
	loads := 0
	for deadline := time.Now().Add(time.Minute); ; loads++ {
		r := httptest.NewRequest(http.MethodGet, "/account", nil)
		r.AddCookie(cookie)
		r.Header.Set("X-Live", "1")
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what a page loads by itself keeps the session alive")
		}
	}
	if loads == 0 {
		t.Error("the session is over at once")
	}
	if got := get(s, "/account", cookie).Code; got != http.StatusSeeOther {
		t.Errorf("after the end of the session: %d, want the login", got)
	}
}

// TestLiveConnectionStaysOpen holds an idle live connection open beyond the server's time to write an answer.
func TestLiveConnectionStaysOpen(t *testing.T) {
	s := fixture(t, nil)
	s.live.beat = time.Second
	cookie := login(t, s)
	server := httptest.NewUnstartedServer(s)
	server.Config.WriteTimeout = s.live.beat * 3 / 2
	server.Start()
	defer server.Close()
	defer s.live.close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(cookie)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	beats := 0
	for lines := bufio.NewScanner(answer.Body); beats < 3 && lines.Scan(); {
		if lines.Text() == ": still here" {
			beats++
		}
	}
	if beats < 3 {
		t.Errorf("the connection ended after %d beats", beats)
	}
}

func TestListenersAreBounded(t *testing.T) {
	l := newLive(nil, slog.New(slog.DiscardHandler))
	defer l.close()
	var all []*listener
	for range mostListeners {
		all = append(all, l.add(map[string]string{"devices": ""}))
	}
	if l.add(nil) != nil {
		t.Fatal("one more is told of changes")
	}
	l.remove(all[0])
	if l.add(nil) == nil {
		t.Error("when one has gone the next one has no place")
	}
}

func TestLiveTopics(t *testing.T) {
	l := newLive(nil, slog.New(slog.DiscardHandler))
	hall, all := l.add(map[string]string{"readings": "hall", "devices": ""}), l.add(map[string]string{"readings": ""})
	changes := l.add(map[string]string{"ledger": "changes"})
	for range 1000 {
		l.changed(Change{"readings", "yard"})
	}
	if got := fmt.Sprint(hall.take(), all.take()); got != "[] [readings]" {
		t.Errorf("told %s", got)
	}
	l.changed(Change{"readings", "hall"})
	l.changed(Change{"devices", "yard"})
	if got := fmt.Sprint(hall.take(), all.take()); got != "[devices readings] [readings]" {
		t.Errorf("told %s", got)
	}
	if len(hall.wake)+len(all.wake) > 0 {
		t.Error("a page is woken for what it was told before")
	}
	l.changed(Change{"ledger", "readings"})
	if got := changes.take(); got != nil {
		t.Errorf("a page with the log of changes is told %s of the log of readings", got)
	}
	l.close()
	for range hall.wake { // which ends
	}
	l.changed(Change{"devices", "yard"})
	if l.add(nil) != nil {
		t.Error("after the end a page is told of changes")
	}
}

func TestManyPagesAreToldLessOften(t *testing.T) {
	l := newLive(nil, slog.New(slog.DiscardHandler))
	defer l.close()
	for pages, want := range map[int]time.Duration{1: liveEvery, 15: liveEvery, 50: 3 * time.Second} {
		for len(l.listeners) < pages {
			l.add(nil)
		}
		for one := range l.listeners {
			if len(l.listeners) > pages {
				l.remove(one)
			}
		}
		if got := l.pause(); got != want {
			t.Errorf("with %d pages a page is told each %v, want %v", pages, got, want)
		}
	}
}

func TestLongAnswers(t *testing.T) {
	s := fixture(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, err := w.Write(make([]byte, 1<<20)); err == nil; _, err = w.Write(make([]byte, 1<<20)) {
		}
	})
	c := testContext(t, s)
	if a := s.call(c, metadataService, http.MethodGet, "/x", nil); a.ok() || !strings.Contains(a.Message, "longer than 8 MiB") || a.Body != nil {
		t.Errorf("got %d %q with %d bytes", a.Status, a.Message, len(a.Body))
	}
}

func TestLongForms(t *testing.T) {
	s := fixture(t, nil)
	form := url.Values{"username": {"anna"}, "password": {"right"}, "more": {strings.Repeat("x", int(s.mostBody()))}}
	r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code == http.StatusSeeOther {
		t.Error("a form beyond the bound was taken")
	}
}
