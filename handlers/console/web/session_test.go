package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/domain"
)

func TestNextPage(t *testing.T) {
	for next, want := range map[string]string{
		"/devices?q=x": "/devices?q=x", "": "/", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "/a\r\nb": "/", "devices": "/",
	} {
		if got := nextPage(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
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
	users := s.Accounts.(people)
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
	s.Sessions.Store.(*sessionStore).idle = 200 * time.Millisecond
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
