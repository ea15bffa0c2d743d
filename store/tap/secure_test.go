package tap_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/bridge/tlstest"
	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"

	"github.com/nats-io/nats.go"
)

// people is a table of logins: a name is its own password, and a token is "ledge_NAME_" with 26 letters.
type people struct {
	mu  sync.Mutex
	all map[string]domain.Identity
}

func tokenOf(name string) string { return "ledge_" + name + "_" + strings.Repeat("A", 26) }

func (p *people) login(_ context.Context, user, password, token, address string) (domain.Identity, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name := strings.TrimSuffix(strings.TrimPrefix(token, "ledge_"), "_"+strings.Repeat("A", 26)); token != "" {
		user, password = name, name
	}
	i, known := p.all[user]
	switch {
	case user == "hasty":
		return domain.Identity{}, domain.Errorf(domain.TooMany, "too many failed logins from %s", address)
	case !known || password != user:
		return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "unknown login")
	}
	return i, nil
}

func (p *people) still(i domain.Identity) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.all {
		if known.Actor == i.Actor && known.Role == i.Role && known.Credential == i.Credential {
			return true
		}
	}
	return false
}

func (p *people) set(name string, role domain.Role) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if role == "" {
		delete(p.all, name)
		return
	}
	p.all[name] = domain.Identity{Actor: "user:" + name, Role: role}
}

// renew gives a name other credentials.
func (p *people) renew(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.all[name]
	i.Credential = "new"
	p.all[name] = i
}

// secure is a store whose tap is in secure mode.
type secure struct {
	*store.Store
	people *people
	log    *lines
	roots  *x509.CertPool
}

func mustSecure(t *testing.T) *secure {
	t.Helper()
	ca := tlstest.NewAuthority(t, "Ledge")
	certificate, key := ca.Sign(t, "ledge")
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	s := &secure{people: &people{all: map[string]domain.Identity{}}, log: &lines{}, roots: x509.NewCertPool()}
	s.roots.AppendCertsFromPEM([]byte(ca.PEM))
	for _, r := range domain.Roles() {
		s.people.set(string(r), r)
	}
	o := options(t.TempDir())
	o.Logger = newLogger(s.log)
	o.Tap.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	o.Tap.Login, o.Tap.Still = s.people.login, s.people.still
	s.Store = mustOpen(t, o)
	return s
}

func (s *secure) connect(options ...nats.Option) (*nats.Conn, error) {
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	trust := nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: s.roots})
	return nats.Connect(s.Tap().URL(), append([]nats.Option{trust, quiet, nats.NoReconnect(), nats.Timeout(patience)}, options...)...)
}

func (s *secure) mustConnect(t *testing.T, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := s.connect(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// TestSecureTapLogins holds who gets in, by which form of a login, and what the others are told. No secret is in the log.
func TestSecureTapLogins(t *testing.T) {
	s := mustSecure(t)
	for _, c := range []struct {
		name  string
		login nats.Option
		want  string // of the error; empty gets in
		count string
	}{
		{"viewer", nats.UserInfo("viewer", "viewer"), "", ""},
		{"operator", nats.UserInfo("operator", "operator"), "", ""},
		{"auditor", nats.UserInfo("auditor", "auditor"), "", ""},
		{"admin", nats.UserInfo("admin", "admin"), "", ""},
		{"token", nats.Token(tokenOf("viewer")), "", ""},
		{"token as a password", nats.UserInfo("anybody", tokenOf("viewer")), "", ""},
		{"wrong password", nats.UserInfo("viewer", "Wr0ngSecret"), "Authorization Violation", "credentials"},
		{"wrong token", nats.Token(tokenOf("Wr0ngSecret")), "Authorization Violation", "credentials"},
		{"no login", nats.Name("x"), "Authorization Violation", "credentials"},
		{"history of open mode", nats.UserInfo("history", "history"), "Authorization Violation", "credentials"},
		{"own user", nats.UserInfo("own", "secret"), "Authorization Violation", "credentials"},
		{"inside user", nats.UserInfo("ledge", ""), "Authorization Violation", "credentials"},
		{"poster", nats.UserInfo("poster", "poster"), "role poster may not read; the tap needs viewer or operator or auditor or admin", "role"},
		{"too many", nats.UserInfo("hasty", "Wr0ngSecret"), "too many failed logins from 127.0.0.1", "rate"},
		{"unknown CA", nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: x509.NewCertPool()}), "unknown authority", "tls"},
	} {
		before := s.Tap().Refusals()
		nc, err := s.connect(c.login)
		if err == nil {
			nc.Close()
		}
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(strings.ToLower(got), strings.ToLower(c.want)) {
			t.Errorf("%s: got %s, want %q", c.name, got, c.want)
		}
		if c.count != "" {
			eventually(t, c.name+" is counted", func() bool { return s.Tap().Refusals()[c.count] == before[c.count]+1 })
		}
	}
	if s.log.count("tap refused") == 0 || s.log.count("Wr0ngSecret") > 0 {
		t.Errorf("the log has %d lines of refusals, and the secret %d times", s.log.count("tap refused"), s.log.count("Wr0ngSecret"))
	}
}

// TestSecureTapWithoutTLS holds that a client that does not use TLS is told so, and that a login in clear is not looked at.
func TestSecureTapWithoutTLS(t *testing.T) {
	s := mustSecure(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Tap().URL(), "tls://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	in := bufio.NewReader(conn)
	if line, _ := in.ReadString('\n'); !strings.Contains(line, `"tls_required":true`) || !strings.Contains(line, `"client_id"`) || !strings.HasPrefix(line, "INFO {") {
		t.Errorf("INFO is %s", line)
	}
	_, _ = io.WriteString(conn, "CONNECT {\"user\":\"viewer\",\"pass\":\"viewer\"}\r\nPING\r\n")
	if line, _ := in.ReadString('\n'); line != "-ERR 'Secure Connection - TLS Required'\r\n" {
		t.Errorf("got %q", line)
	}
	if _, err := in.ReadString('\n'); err == nil {
		t.Error("not cut off")
	}
	if nc, err := nats.Connect(strings.Replace(s.Tap().URL(), "tls:", "nats:", 1), nats.UserInfo("viewer", "viewer")); err == nil { // it upgrades, and trusts nobody
		nc.Close()
		t.Error("a client without the CA gets in")
	}
}

// TestSecureTapRights holds what each role sees: all see what is live, and those who may audit also history. Nobody changes anything.
func TestSecureTapRights(t *testing.T) {
	for _, role := range []domain.Role{domain.Viewer, domain.Operator, domain.Auditor, domain.Admin} {
		s := mustSecure(t)
		a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
		nc := s.mustConnect(t, nats.UserInfo(string(role), string(role)))
		live := mustSubscribe(t, nc, "ledge.>")
		storetest.MustAdd(t, a, "a", 1)
		if m := mustNext(t, live); m.Header.Get("Nats-Sequence") != "1" {
			t.Errorf("%s: live %v", role, m.Header)
		}
		limit := 50 * time.Millisecond
		if role.May(domain.MayAudit) {
			limit = patience
		}
		m, err := nc.Request("$JS.API.DIRECT.GET.LEDGE_EVENTS", []byte(`{"seq":1}`), limit)
		if (err == nil && m.Header.Get("Nats-Sequence") == "1") != role.May(domain.MayAudit) {
			t.Errorf("%s: history %v, %v", role, m, err)
		}
		if err := nc.LastError(); !role.May(domain.MayAudit) && !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: error %v", role, err)
		}
		if role.May(domain.MayAudit) {
			if err := nc.PublishRequest("ledge.info", nats.NewInbox(), []byte("forged")); err != nil {
				t.Fatal(err)
			}
		}
		for _, subject := range []string{"ledge.event.service.forged.added", "ledge.append.event.service.forged.added", "_INBOX.x", "$JS.API.STREAM.DELETE.LEDGE_EVENTS"} {
			if err := nc.Publish(subject, []byte("forged")); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		storetest.MustAdd(t, a, "b", 1)
		if m := mustNext(t, live); m.Header.Get("Nats-Sequence") != "2" {
			t.Errorf("%s: saw %s %s", role, m.Subject, m.Data)
		}
		if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != 2 {
			t.Errorf("%s: log %+v, %v", role, r, err)
		}
	}
}

// TestSecureTapSecondLogin holds that a client cannot become another one by a second CONNECT.
func TestSecureTapSecondLogin(t *testing.T) {
	s := mustSecure(t)
	storetest.MustAdd(t, storetest.MustAppender(t, s.Events(), storetest.NewProjection()), "a", 1)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Tap().URL(), "tls://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	for b := make([]byte, 1); b[0] != '\n'; { // INFO, and no byte of what follows
		if _, err := conn.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	c := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: s.roots, ServerName: "127.0.0.1"})
	_, _ = io.WriteString(c, "CONNECT {\"headers\":true,\"user\":\"viewer\",\"pass\":\"viewer\"}\r\n"+
		"CONNECT {\"headers\":true,\"user\":\"own\",\"pass\":\"secret\"}\r\nPUB ledge.info _INBOX.x 0\r\n\r\n"+
		"CONNECT {\"user\":\"auditor\",\"pass\":\"auditor\"}\r\nPUB ledge.info _INBOX.x 0\r\n\r\nPING\r\n")
	var got []byte
	for in := bufio.NewReader(c); !bytes.Contains(got, []byte("PONG")); {
		line, err := in.ReadBytes('\n')
		if got = append(got, line...); err != nil {
			t.Fatalf("%v after %s", err, got)
		}
	}
	if n := bytes.Count(got, []byte("Permissions Violation for Publish")); n != 2 {
		t.Errorf("%d of 2 requests for history are refused: %s", n, got)
	}
}

// TestSecureTapEnds holds that a connection ends when its identity is removed, has another role or new credentials, and that others stay.
func TestSecureTapEnds(t *testing.T) {
	s := mustSecure(t)
	other := s.mustConnect(t, nats.UserInfo("admin", "admin"))
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"removed", func() { s.people.set("anna", ""); s.Tap().Recheck() }},
		{"another role", func() { s.people.set("anna", domain.Auditor); s.Tap().Recheck() }},
		{"new password", func() { s.people.renew("anna"); s.Tap().Recheck() }},
	} {
		s.people.set("anna", domain.Viewer)
		for _, login := range []nats.Option{nats.UserInfo("anna", "anna"), nats.Token(tokenOf("anna"))} {
			s.people.set("anna", domain.Viewer)
			nc := s.mustConnect(t, login)
			s.Tap().Recheck()
			if err := nc.Flush(); err != nil {
				t.Fatalf("%s: ended without a reason: %v", c.name, err)
			}
			c.change()
			eventually(t, c.name+": the connection ends", nc.IsClosed)
		}
	}
	if err := other.Flush(); err != nil {
		t.Error(err)
	}
	if n := s.Tap().Refusals()["ended"]; n != 6 {
		t.Errorf("%d ended, want 6", n)
	}
}
