package bus

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ledge/bridge/tlstest"
	"ledge/domain"
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

// set gives a name a role and credentials; without a role it removes the name.
func (p *people) set(name string, role domain.Role, credential string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if role == "" {
		delete(p.all, name)
		return
	}
	p.all[name] = domain.Identity{Actor: "user:" + name, Role: role, Credential: credential}
}

// secure is a bus in secure mode.
type secure struct {
	*served
	people *people
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
	s := &secure{people: &people{all: map[string]domain.Identity{}}, roots: x509.NewCertPool()}
	s.roots.AppendCertsFromPEM([]byte(ca.PEM))
	for _, r := range domain.Roles() {
		s.people.set(string(r), r, "")
	}
	s.served = mustServe(t, Options{
		MaxBytes: 1 << 20, TLS: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}},
		Login: s.people.login, Still: s.people.still,
	})
	return s
}

func (s *secure) connect(o ...nats.Option) (*nats.Conn, error) {
	trust := nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: s.roots})
	return s.served.connect(append([]nats.Option{trust}, o...)...)
}

func (s *secure) mustConnect(t *testing.T, o ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := s.connect(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// TestLogins holds which logins are accepted, in which form, and how refusals are counted. No secret is in the log.
func TestLogins(t *testing.T) {
	t.Parallel()
	s := mustSecure(t)
	const violation = "Authorization Violation"
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
		{"wrong password", nats.UserInfo("viewer", "Wr0ngSecret"), violation, byCredentials},
		{"wrong token", nats.Token(tokenOf("Wr0ngSecret")), violation, byCredentials},
		{"no login", nats.Name("x"), violation, byCredentials},
		{"user of the copies", nats.UserInfo(feedUser, ""), violation, byCredentials},
		{"user of the account", nats.UserInfo(liveUser, "live"), violation, byCredentials},
		{"poster", nats.UserInfo("poster", "poster"), violation, byRole},
		{"too many", nats.UserInfo("hasty", "Wr0ngSecret"), violation, byRate},
		{"unknown CA", nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: x509.NewCertPool()}), "unknown authority", ""},
	} {
		before := s.Refusals()
		nc, err := s.connect(c.login)
		if err == nil {
			nc.Close()
		}
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(strings.ToLower(got), strings.ToLower(c.want)) {
			t.Errorf("%s: got %s, want %q", c.name, got, c.want)
		}
		if c.count != "" && s.Refusals()[c.count] != before[c.count]+1 {
			t.Errorf("%s: %v are counted, before %v", c.name, s.Refusals(), before)
		}
	}
	if s.log.count("NATS client refused") == 0 || s.log.count("Wr0ngSecret") > 0 {
		t.Errorf("the log has %d lines of refusals, and the secret %d times", s.log.count("NATS client refused"), s.log.count("Wr0ngSecret"))
	}
}

// TestWithoutTLS holds that a login in clear text is refused, and that the first line asks for TLS.
func TestWithoutTLS(t *testing.T) {
	t.Parallel()
	s := mustSecure(t)
	conn := s.mustDial(t, "127.0.0.1")
	_, _ = io.WriteString(conn, "CONNECT {\"user\":\"viewer\",\"pass\":\"viewer\"}\r\nPING\r\n")
	got := readToEnd(t, conn)
	if !strings.HasPrefix(got, "INFO {") || !strings.Contains(got, `"tls_required":true`) || strings.Contains(got, "PONG") {
		t.Errorf("got %s", got)
	}
	if s.Refusals()[byTLS] != 1 || s.Clients() != 0 {
		t.Errorf("%d are counted, %d clients", s.Refusals()[byTLS], s.Clients())
	}
	nc, err := nats.Connect(strings.Replace(s.URL(), "tls:", "nats:", 1), nats.UserInfo("viewer", "viewer"))
	if err == nil { // it upgrades, and trusts no CA
		nc.Close()
		t.Error("a client without the CA gets in")
	}
}

// TestRights holds that each role hears live messages, a viewer no answers of device services, and that only auditors and admins read the
// copies. No role may publish.
func TestRights(t *testing.T) {
	t.Parallel()
	s := mustSecure(t)
	storetest.MustAdd(t, s.events, "a", 1)
	eventually(t, "the copy has it", func() bool { return s.Stats()[0].Lag == 0 })
	for seq, role := range []domain.Role{domain.Viewer, domain.Operator, domain.Auditor, domain.Admin} {
		refused := make(chan error, 10)
		note := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
		nc := s.mustConnect(t, nats.UserInfo(string(role), string(role)), note)
		live := mustSubscribe(t, nc, "ledge.>")
		inbox := mustSubscribe(t, nc, nats.NewInbox())
		if err := nc.PublishRequest("$JS.API.STREAM.MSG.GET.LEDGE_EVENTS", inbox.Subject, []byte(`{"seq":1}`)); err != nil {
			t.Fatal(err)
		}
		if role.May(domain.MayAudit) {
			if m := mustNext(t, inbox); !strings.Contains(string(m.Data), `"seq":1`) {
				t.Errorf("%s: got %s", role, m.Data)
			}
		} else if err := mustReceive(t, refused); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: error %v", role, err)
		}
		for _, subject := range []string{"ledge.event.x.y.added", ingest + "event.x.y.added", "_INBOX.x", "$JS.API.STREAM.DELETE.LEDGE_EVENTS"} {
			if err := nc.Publish(subject, []byte("forged")); err != nil {
				t.Fatal(err)
			}
			if err := mustReceive(t, refused); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
				t.Errorf("%s: %s is refused with %v", role, subject, err)
			}
		}
		answered := domain.CommandAnswered{Device: "pump-1", Command: "start", Issued: 1, Status: 500}
		storetest.MustSubmit(t, s.events, storetest.Request(domain.RecordAnswer{Answered: answered}))
		storetest.MustAdd(t, s.events, string(role), 1)
		hears := []int{2*seq + 2, 2*seq + 3}
		if role == domain.Viewer {
			hears = hears[1:]
		}
		for _, want := range hears {
			if m := mustNext(t, live); m.Header.Get("Nats-Sequence") != fmt.Sprint(want) {
				t.Errorf("%s: heard %s %s, want event %d", role, m.Subject, m.Data, want)
			}
		}
	}
}

// TestSecondLogin holds that a client cannot become another one by a second CONNECT.
func TestSecondLogin(t *testing.T) {
	t.Parallel()
	s := mustSecure(t)
	conn := s.mustDial(t, "127.0.0.1")
	readGreeting(t, conn)
	c := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: s.roots, ServerName: "127.0.0.1"})
	const publish = "PUB $JS.API.STREAM.PURGE.LEDGE_EVENTS _INBOX.x 0\r\n\r\n"
	_, _ = io.WriteString(c, "CONNECT {\"headers\":true,\"verbose\":false,\"user\":\"viewer\",\"pass\":\"viewer\"}\r\n"+
		"CONNECT {\"headers\":true,\"verbose\":false,\"user\":\"ledge\",\"pass\":\"\"}\r\n"+publish+
		"CONNECT {\"verbose\":false,\"user\":\"auditor\",\"pass\":\"auditor\"}\r\n"+publish+"PING\r\n")
	var got []byte
	for buffer := make([]byte, 4<<10); !bytes.Contains(got, []byte("PONG")); {
		n, err := c.Read(buffer)
		if got = append(got, buffer[:n]...); err != nil {
			break
		}
	}
	if bytes.Contains(got, []byte("PONG")) && bytes.Count(got, []byte("Permissions Violation for Publish")) != 2 {
		t.Errorf("the requests are not refused: %s", got)
	}
}

// TestEnds holds that a connection ends when its identity is removed, has another role or new credentials, and that others stay.
func TestEnds(t *testing.T) {
	t.Parallel()
	s := mustSecure(t)
	other := s.mustConnect(t, nats.UserInfo("admin", "admin"))
	for name, change := range map[string]func(){
		"removed":      func() { s.people.set("anna", "", "") },
		"another role": func() { s.people.set("anna", domain.Auditor, "") },
		"new password": func() { s.people.set("anna", domain.Viewer, "new") },
	} {
		for _, login := range []nats.Option{nats.UserInfo("anna", "anna"), nats.Token(tokenOf("anna"))} {
			s.people.set("anna", domain.Viewer, "")
			nc := s.mustConnect(t, login)
			s.Recheck()
			if err := nc.Flush(); err != nil {
				t.Fatalf("%s: ended without a reason: %v", name, err)
			}
			change()
			s.Recheck()
			eventually(t, name+": the connection ends", nc.IsClosed)
		}
	}
	if err := other.Flush(); err != nil {
		t.Error(err)
	}
	if n := s.Refusals()[byEnd]; n != 6 {
		t.Errorf("%d ended, want 6", n)
	}
}

// TestLoginTimes holds that a client that does not log in is closed, and that the check of a login ends.
func TestLoginTimes(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	n := mustServe(t, Options{Login: func(ctx context.Context, _, _, _, address string) (domain.Identity, error) {
		if address == "127.0.0.2" {
			asked <- struct{}{}
		}
		<-ctx.Done()
		return domain.Identity{}, ctx.Err()
	}})
	for _, says := range []string{"", "CONNECT {", "CONNECT {\"user\":\"a\",\"pass\":\"b\"}\r\n"} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			conn := n.mustDial(t, "127.0.0.1")
			_, _ = io.WriteString(conn, says)
			if got := readToEnd(t, conn); strings.HasSuffix(says, "\n") && !strings.Contains(got, "Authorization Violation") {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("a client that leaves", func(t *testing.T) {
		t.Parallel()
		conn := n.mustDial(t, "127.0.0.2")
		_, _ = io.WriteString(conn, "CONNECT {\"user\":\"a\",\"pass\":\"b\"}\r\n")
		mustReceive(t, asked)
		conn.Close()
		eventually(t, "it has left", func() bool { return !n.hasClient("127.0.0.2") })
	})
}

// hasClient reports whether a client has a connection.
func (n *served) hasClient(client string) bool {
	n.gate.mu.Lock()
	defer n.gate.mu.Unlock()
	return n.gate.has(client)
}

// TestTokenExpires holds that a connection ends soon after its token expires, if only the check of the token can tell, and that a check that is
// put off ends nothing.
func TestTokenExpires(t *testing.T) {
	t.Parallel()
	var code atomic.Pointer[domain.Code]
	n := mustServe(t, Options{Login: func(context.Context, string, string, string, string) (domain.Identity, error) {
		if c := code.Load(); c != nil {
			return domain.Identity{}, domain.Errorf(*c, "no")
		}
		return domain.Identity{Actor: "token:pos", Role: domain.Viewer}, nil
	}})
	nc := n.mustConnect(t, nats.Token("x"))
	putOff, expired := domain.TooMany, domain.Unauthenticated
	code.Store(&putOff)
	n.recheck(true)
	if err := nc.Flush(); err != nil {
		t.Fatalf("a check that is put off ends the connection: %v", err)
	}
	code.Store(&expired)
	n.recheck(false)
	if err := nc.Flush(); err != nil {
		t.Fatalf("ended without a check of its token: %v", err)
	}
	eventually(t, "the connection of an expired token ends", nc.IsClosed)
	if n.Refusals()[byEnd] != 1 {
		t.Errorf("%d are counted", n.Refusals()[byEnd])
	}
}
