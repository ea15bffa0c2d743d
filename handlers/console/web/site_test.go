package web

import (
	"context"
	"fmt"
	"io"
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
func testContext(t *testing.T, _ *Site) *gin.Context {
	t.Helper()
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	return c
}

// people are users with the password "right".
type people map[string]domain.User

func (p people) User(name string) (u domain.User, ok bool) { u, ok = p[name]; return u, ok }

func (people) SetPassword(context.Context, string, string, string, bool) error { return nil }

// metadataService is the service of fixture.
const metadataService = "core-metadata"

// fixture returns a site with the users of people, and a service that answers as service does. The form /services/:name/delete calls it.
func fixture(t *testing.T, service http.HandlerFunc) *Site {
	t.Helper()
	s := New(Options{
		Options:  handlers.Options{Service: "console", Logger: slog.New(slog.DiscardHandler), BodyBytes: 1 << 10},
		Accounts: people{"anna": {Name: "anna", Role: domain.Admin, Credential: "1"}}, Idle: time.Hour,
		Services: map[string]http.Handler{metadataService: service},
		Password: func(_ context.Context, name, password, _ string) (domain.Identity, error) {
			if name != "anna" || password != "right" {
				return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "wrong")
			}
			return domain.Identity{Actor: "user:anna", Role: domain.Admin}, nil
		},
	})
	t.Cleanup(s.Close)
	s.Serve(Post("/services/:name/delete", domain.MayChange, func(c *gin.Context) error {
		a := s.Call(c, metadataService, http.MethodDelete, APIPath("deviceservice/name/", c.Param("name")), nil)
		return s.Finish(c, a, "/services", "It is deleted.")
	}))
	return s
}

// login returns the cookie of a session of anna.
func login(t *testing.T, s *Site) *http.Cookie {
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

func get(s *Site, path string, cookie *http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.AddCookie(cookie)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func post(s *Site, path string, cookie *http.Cookie, form io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, form)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(cookie)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
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

// TestPageWithoutRight holds that a page without a right is not served.
func TestPageWithoutRight(t *testing.T) {
	s := New(Options{Options: handlers.Options{Logger: slog.New(slog.DiscardHandler)}})
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, `route GET /x: no role has its right ""`) {
			t.Errorf("got %s", got)
		}
	}()
	s.Serve(Route{Method: "GET", Path: "/x", Handle: func(*gin.Context) error { return nil }})
}
