package console

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
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

// TestSessionsAreBounded has one user log in again and again. Before, the 1,000th login ended the sessions of the others.
func TestSessionsAreBounded(t *testing.T) {
	s := fixture(t, nil)
	first, second := login(t, s), login(t, s)
	for range mostOfUser - 2 {
		login(t, s)
	}
	if got := get(s, "/account", first).Code; got != http.StatusOK {
		t.Fatalf("at the bound: %d", got)
	}
	// The request has put the end of the first session off, so the second one gives way.
	login(t, s)
	if got := get(s, "/account", first).Code; got != http.StatusOK {
		t.Errorf("the session that was used last has ended: %d", got)
	}
	if got := get(s, "/account", second).Code; got != http.StatusSeeOther {
		t.Errorf("one session of the user too many: %d, want the login", got)
	}
}

// TestSessionsOfAllAreBounded holds that the user with the most sessions loses one, whoever logs in.
func TestSessionsOfAllAreBounded(t *testing.T) {
	s := &sessionStore{idle: time.Hour, ended: func() {}, sessions: map[string]storedSession{}}
	begin := func(user, token string) {
		if err := s.CommitCtx(context.WithValue(t.Context(), newSession{}, user), token, nil, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	begin("admin", "first")
	for user := 0; len(s.sessions) < mostSessions; user++ {
		for n := range mostOfUser {
			begin(fmt.Sprint("u", user), fmt.Sprint(user, " ", n))
		}
	}
	begin("anna", "last")
	for _, token := range []string{"first", "last"} {
		if _, ok, _ := s.Find(token); !ok {
			t.Errorf("the %s session has ended", token)
		}
	}
	if len(s.sessions) != mostSessions {
		t.Errorf("%d sessions, want %d", len(s.sessions), mostSessions)
	}
}

// TestLogoutIsFinal has a request end after the logout of its session. Before, what it noted brought the session back.
func TestLogoutIsFinal(t *testing.T) {
	goOn := make(chan struct{})
	entered := make(chan struct{})
	s := fixture(t, func(http.ResponseWriter, *http.Request) { close(entered); <-goOn })
	cookie := login(t, s)
	done := make(chan int)
	go func() { done <- post(s, "/services/a/delete", cookie, strings.NewReader("")).Code }()
	<-entered
	post(s, "/logout", cookie, strings.NewReader(""))
	close(goOn)
	if got := <-done; got != http.StatusSeeOther {
		t.Errorf("the request under way: %d", got)
	}
	if got := get(s, "/account", cookie).Code; got != http.StatusSeeOther {
		t.Errorf("after the logout: %d, want the login", got)
	}
}

// atEnd is a form that arrives slowly: before its end something happens.
type atEnd struct {
	io.Reader
	happens func()
}

func (b atEnd) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.happens()
	}
	return n, err
}

// TestSessionIsProvedAgain ends a session while a form of it arrives, and changes the role of its user. Before, the form was done.
func TestSessionIsProvedAgain(t *testing.T) {
	calls := 0
	s := fixture(t, func(http.ResponseWriter, *http.Request) { calls++ })
	users := s.Users.(people)
	anna := users["anna"]
	for name, test := range map[string]struct {
		happens func(*http.Cookie)
		status  int
	}{
		"nothing":        {func(*http.Cookie) {}, http.StatusSeeOther},
		"a logout":       {func(c *http.Cookie) { post(s, "/logout", c, strings.NewReader("")) }, http.StatusSeeOther},
		"a new password": {func(*http.Cookie) { u := anna; u.Credential = "2"; users["anna"] = u }, http.StatusSeeOther},
		"a removal":      {func(*http.Cookie) { delete(users, "anna") }, http.StatusSeeOther},
		"another role":   {func(*http.Cookie) { u := anna; u.Role = domain.Viewer; users["anna"] = u }, http.StatusForbidden},
	} {
		users["anna"], calls = anna, 0
		cookie := login(t, s)
		w := post(s, "/services/a/delete", cookie, atEnd{strings.NewReader("a=b"), func() { test.happens(cookie) }})
		if w.Code != test.status || (calls > 0) != (name == "nothing") {
			t.Errorf("%s: %d %s, %d calls", name, w.Code, w.Header().Get("Location"), calls)
		}
	}
}

func post(s *Console, path string, cookie *http.Cookie, form io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, form)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(cookie)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestSessionsCountTheirTime holds that the time of the clock that scs gives does not end a session, and that its own times do.
func TestSessionsCountTheirTime(t *testing.T) {
	s := &sessionStore{idle: time.Hour, ended: func() {}, sessions: map[string]storedSession{}}
	for _, clock := range []time.Duration{-6 * time.Hour, 6 * time.Hour} {
		mustCommit(t, s, clock)
		if left := time.Until(s.sessions["a"].ends); left <= 0 || left > time.Hour {
			t.Errorf("with a clock that is off by %v, the session ends in %v, want an hour", clock, left)
		}
		if _, ok, _ := s.Find("a"); !ok {
			t.Errorf("with a clock that is off by %v, the session has ended", clock)
		}
	}
	one := s.sessions["a"]
	one.begun = one.begun.Add(time.Minute - longestSession)
	s.sessions["a"] = one
	mustCommit(t, s, 0)
	if left := time.Until(s.sessions["a"].ends); left > time.Minute {
		t.Errorf("after all but a minute of its longest life, the session ends in %v", left)
	}
}

func mustCommit(t *testing.T, s *sessionStore, clock time.Duration) {
	t.Helper()
	if err := s.CommitCtx(context.WithValue(t.Context(), newSession{}, "anna"), "a", nil, time.Now().Add(clock).UTC()); err != nil {
		t.Fatal(err)
	}
}

// TestIdleSessionEnds ends a session that its user does not use. What an open page loads by itself does not keep it alive.
func TestIdleSessionEnds(t *testing.T) {
	s := fixture(t, nil)
	s.sessions.Store.(*sessionStore).idle = 200 * time.Millisecond
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

// TestLiveConnectionEndsWithRights ends live connections whose users may not listen any more, between two beats. Before, they ended with the next beat.
func TestLiveConnectionEndsWithRights(t *testing.T) {
	s := fixture(t, nil)
	s.live.beat = time.Hour
	server := httptest.NewServer(s)
	defer server.Close()
	defer s.live.close()
	users := s.Users.(people)
	anna := users["anna"]
	for name, lose := range map[string]func(*http.Cookie){
		"logout": func(c *http.Cookie) { post(s, "/logout", c, strings.NewReader("")) },
		"logins": func(*http.Cookie) {
			for range mostOfUser {
				login(t, s)
			}
		},
		"role": func(*http.Cookie) {
			u := anna
			u.Role = domain.Poster
			users["anna"] = u
			s.live.changed(Change{"users", "anna"})
		},
	} {
		cookie := login(t, s)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(cookie)
		answer, err := server.Client().Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(name, answer, err)
		}
		lose(cookie)
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		answer.Body.Close()
		users["anna"] = anna
	}
}

// TestListenersAreBounded has one user open as many pages as it may. The next user takes the place of the oldest. Before, it had none.
func TestListenersAreBounded(t *testing.T) {
	l := newLive(nil, slog.New(slog.DiscardHandler))
	defer l.close()
	var all []*listener
	for one := l.add("viewer", nil); one != nil; one = l.add("viewer", nil) {
		all = append(all, one)
	}
	if len(all) != mostListeners {
		t.Errorf("one user has %d of %d", len(all), mostListeners)
	}
	if l.add("admin", nil) == nil {
		t.Error("the next user has no place")
	}
	if _, open := <-all[0].wake; open {
		t.Error("the oldest page of the user with the most goes on")
	}
	l.remove(all[0])
	if l.add("viewer", nil) != nil {
		t.Error("the user with the most has taken the place of another")
	}
	l.remove(all[1])
	if l.add("viewer", nil) == nil {
		t.Error("when one has gone the next one has no place")
	}
}

func TestLiveTopics(t *testing.T) {
	l := newLive(nil, slog.New(slog.DiscardHandler))
	l.every = time.Hour // the test sends the messages
	l.last = time.Now()
	hall, all := l.add("anna", map[string]string{"readings": "hall", "devices": ""}), l.add("anna", map[string]string{"readings": ""})
	changes := l.add("anna", map[string]string{"ledger": "changes"})
	told := func() string {
		l.send()
		for _, one := range []*listener{hall, all, changes} {
			if woken := len(one.wake) > 0; woken != (len(one.due) > 0) {
				t.Errorf("woken %v for %v", woken, one.due)
			}
			select {
			case <-one.wake:
			default:
			}
		}
		return fmt.Sprint(l.take(hall), l.take(all), l.take(changes))
	}
	for range 1000 {
		l.changed(Change{"readings", "yard"})
	}
	if got := told(); got != "[] [readings] []" {
		t.Errorf("told %s", got)
	}
	l.changed(Change{"readings", "hall"})
	l.changed(Change{"devices", "yard"})
	if got := told(); got != "[devices readings] [readings] []" {
		t.Errorf("told %s", got)
	}
	l.changed(Change{"ledger", "readings"})
	if got := told(); got != "[] [] []" {
		t.Errorf("a page is told %s of the log of readings, or again of what it was told before", got)
	}
	l.changed(Change{"readings", "hall"})
	l.send()
	l.changed(Change{"devices", "hall"})
	if got := fmt.Sprint(l.take(hall)); got != "[readings]" {
		t.Errorf("told %s: the page that it shares may be older than the last change", got)
	}
	if got := told(); got != "[devices] [readings] []" {
		t.Errorf("told %s after the change between a message and what a page loads then", got)
	}
	l.close()
	for range hall.wake { // which ends
	}
	l.changed(Change{"devices", "yard"})
	if l.add("anna", nil) != nil {
		t.Error("after the end a page is told of changes")
	}
}

// TestPagesShareWhatTheyLoad has pages load the same after a message: one request renders it for all users with the same role.
func TestPagesShareWhatTheyLoad(t *testing.T) {
	const pages = 20
	s := fixture(t, nil)
	s.live.every, s.live.last = time.Hour, time.Now()
	page := s.live.add("anna", map[string]string{"devices": ""})
	var rendered atomic.Int32
	p, status := Page{Title: "shown", Live: "devices"}, http.StatusOK
	s.engine.GET("/shown", s.session, s.authorize(handlers.AnyRole), s.share(func(c *gin.Context) {
		rendered.Add(1)
		s.show(c, status, "error", p)
	}))
	cookies := []*http.Cookie{login(t, s), login(t, s)}
	load := func(what string, want int, encoding string) {
		t.Helper()
		rendered.Store(0)
		var all sync.WaitGroup
		for i := range pages {
			all.Go(func() {
				r := httptest.NewRequest(http.MethodGet, "/shown", nil)
				r.AddCookie(cookies[i%len(cookies)])
				r.Header.Set("X-Live", "1")
				r.Header.Set("Accept-Encoding", encoding)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				text := w.Body.Bytes()
				if w.Header().Get("Content-Encoding") == "gzip" {
					z, err := gzip.NewReader(w.Body)
					if err != nil {
						t.Error(err)
						return
					}
					text, _ = io.ReadAll(z)
				}
				if w.Code != status || !bytes.Contains(text, []byte("<title>shown")) {
					t.Errorf("%s: %d %.200s", what, w.Code, text)
				}
				if own := p.Live == "" || status != http.StatusOK; bytes.Contains(text, []byte("anna")) != own {
					t.Errorf("%s: the page has the name of its user: %v, want %v", what, !own, own)
				}
			})
		}
		all.Wait()
		if got := int(rendered.Load()); got != want {
			t.Errorf("%s: rendered %d times, want %d", what, got, want)
		}
	}
	load("the first message", 1, "")
	s.live.changedAll(page)
	s.live.send()
	w := &slowBrowser{httptest.NewRecorder(), func() { load("a page that the first browser is still reading", 0, "") }}
	slow := httptest.NewRequest(http.MethodGet, "/shown", nil)
	slow.AddCookie(cookies[0])
	slow.Header.Set("X-Live", "1")
	s.ServeHTTP(w, slow)
	load("the same message", 0, "")
	load("the same message, compressed", 1, "gzip")
	s.Users.(people)["anna"] = domain.User{Name: "anna", Role: domain.Viewer, Credential: "1"}
	load("the same message, for another role", 1, "")
	s.live.changedAll(page)
	load("before the next message", 0, "")
	s.live.send()
	load("the next message", 1, "")
	s.live.every = 0
	load("later", pages, "")
	s.live.every = time.Hour
	s.live.remove(page)
	load("without a live connection", pages, "")
	s.live.add("anna", nil)
	p.Live = ""
	load("a page that is not live", pages, "")
	p.Live, status = "devices", http.StatusTeapot
	load("an error", pages, "")
}

// slowBrowser calls meanwhile before it takes the answer.
type slowBrowser struct {
	*httptest.ResponseRecorder
	meanwhile func()
}

func (b *slowBrowser) Write(text []byte) (int, error) {
	b.meanwhile()
	return b.ResponseRecorder.Write(text)
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
	form := url.Values{"username": {"anna"}, "password": {"right"}, "more": {strings.Repeat("x", handlers.LoginBytes)}}
	r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge || w.Header().Get("Connection") != "close" {
		t.Errorf("a form beyond the bound: got %d, Connection: %s", w.Code, w.Header().Get("Connection"))
	}
}

// TestPageWithoutRight holds that a page is not served if it is not certain who may see it.
func TestPageWithoutRight(t *testing.T) {
	s := New(Options{Options: handlers.Options{Logger: slog.New(slog.DiscardHandler)}})
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, `route GET /x: no role has its right ""`) {
			t.Errorf("got %s", got)
		}
	}()
	s.serveRoutes([]route{{method: "GET", path: "/x", handle: func(*gin.Context) {}}})
}
