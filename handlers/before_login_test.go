package handlers_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
)

// slowLogin is a login whose body has begun.
type slowLogin struct {
	body   *io.PipeWriter
	answer chan *httptest.ResponseRecorder
}

func beginLogin(s http.Handler, from string) slowLogin {
	r, w := io.Pipe()
	l := slowLogin{w, make(chan *httptest.ResponseRecorder, 1)}
	req := httptest.NewRequest(http.MethodPost, "/api/v2/login", r)
	req.RemoteAddr = from
	go func() {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, req)
		r.Close() // as net/http does
		l.answer <- answer
	}()
	_, _ = io.WriteString(w, `{"username":"anna",`) // returns when it was read
	return l
}

func (l slowLogin) end() int {
	_, _ = io.WriteString(l.body, `"password":"right"}`)
	l.body.Close()
	return (<-l.answer).Code
}

// TestOldestLoginGivesWay has two clients begin 64 logins, and a third one one more: the oldest of the client with the most breaks off.
func TestOldestLoginGivesWay(t *testing.T) {
	s := allServices(secure)["core-metadata"]
	few := beginLogin(s, "192.0.2.1:1")
	var many []slowLogin
	for range 63 {
		many = append(many, beginLogin(s, "192.0.2.2:1"))
	}
	one := beginLogin(s, "192.0.2.3:1")
	for i, l := range []slowLogin{one, few, many[0], many[1]} {
		if got, want := l.end(), []int{200, 200, 503, 200}[i]; got != want {
			t.Errorf("login %d: got %d, want %d", i, got, want)
		}
	}
	for _, l := range many[2:] {
		l.end()
	}
}

// TestPasswordsHoldNoPlace has 200 logins wait for the computation of their passwords. The next one is answered.
func TestPasswordsHoldNoPlace(t *testing.T) {
	entered, goOn := make(chan struct{}), make(chan struct{})
	s := allServices(func(o *handlers.Options) {
		o.Access = &access.Access{Authenticator: waiting{roleAccess{}, entered, goOn}}
	})["core-metadata"]
	var all []slowLogin
	for range 200 {
		l := beginLogin(s, "192.0.2.2:1")
		_, _ = io.WriteString(l.body, `"password":"right"}`)
		l.body.Close()
		<-entered
		all = append(all, l)
	}
	close(goOn)
	for _, l := range all {
		if got := <-l.answer; got.Code != http.StatusOK {
			t.Fatalf("got %d %s", got.Code, got.Body)
		}
	}
}

// TestRightsEndWithinBody has the sender of each request lose its rights before the body has ended: nothing comes of it. Before, a secret was stored.
func TestRightsEndWithinBody(t *testing.T) {
	var lost atomic.Bool
	reached := 0
	services := allServices(func(o *handlers.Options) {
		secure(o)
		o.Access.Still = func(domain.Identity) error {
			if lost.Load() {
				return domain.Errorf(domain.Forbidden, "lost")
			}
			return nil
		}
		o.Secrets = noSecrets{t}
	})
	for name, s := range services {
		for _, route := range s.Routes() {
			method, path := route.Method, fill(route.Path)
			if method != http.MethodPost && method != http.MethodPut && method != http.MethodPatch || strings.HasSuffix(path, "/login") {
				continue
			}
			lost.Store(false)
			body := &losing{strings.NewReader(`[{"apiVersion":"v2"}]`), &lost}
			r := httptest.NewRequest(method, path, body)
			r.Header.Set("Authorization", "Bearer admin")
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if !lost.Load() {
				continue
			}
			reached++
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "lost") {
				t.Errorf("%s: %s: got %d %s", name, route, w.Code, w.Body)
			}
		}
	}
	if reached < 20 {
		t.Errorf("%d routes read their body to its end", reached)
	}
}

// TestIdentityEndsWithCertificate holds that an identity ends with the certificate that proves it, also within a body.
func TestIdentityEndsWithCertificate(t *testing.T) {
	end := time.Now().Add(time.Hour)
	var until int64
	s := allServices(func(o *handlers.Options) {
		o.Access = &access.Access{Authenticator: certified{}}
		o.Access.Still = func(id domain.Identity) error {
			until = id.Until
			return nil
		}
	})["core-metadata"]
	r := httptest.NewRequest(http.MethodPost, "/api/v2/device", strings.NewReader("{}"))
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{NotAfter: end}}}}
	s.ServeHTTP(httptest.NewRecorder(), r)
	if until != end.UnixMilli() {
		t.Errorf("the identity ends at %d, want %d", until, end.UnixMilli())
	}
}

// certified gives each client certificate the role operator.
type certified struct{ roleAccess }

func (certified) Certificate(*x509.Certificate) (domain.Identity, error) {
	return domain.Identity{Actor: "cert:c", Role: domain.Operator}, nil
}

// losing is a body with whose end its sender loses its rights.
type losing struct {
	io.Reader
	lost *atomic.Bool
}

func (l *losing) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err == io.EOF {
		l.lost.Store(true)
	}
	return n, err
}

// waiting has logins wait.
type waiting struct {
	roleAccess
	entered, goOn chan struct{}
}

func (a waiting) Login(context.Context, string, string, string) (string, time.Time, error) {
	a.entered <- struct{}{}
	<-a.goOn
	return "admin", time.UnixMilli(0), nil
}

type noSecrets struct{ t *testing.T }

func (n noSecrets) Put(string, map[string]string, []domain.SecretUse) error {
	n.t.Error("a secret was stored")
	return nil
}
