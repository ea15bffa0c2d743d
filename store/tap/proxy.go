package tap

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"ledge/domain"

	"github.com/nats-io/nats-server/v2/server"
)

// proxy accepts the connections of NATS clients, enforces their limits, and connects each to the server. The server's own
// listener has no limit per address and none before the login. It also keeps the unread messages of a client that it has cut off
// until the write times out; the proxy frees them at once.
type proxy struct {
	server   *server.Server
	listener net.Listener
	log      *slog.Logger
	most     [classes]int
	tls      *tls.Config                                                                               // nil: none
	check    func(ctx context.Context, user, password, token, address string) (domain.Identity, error) // nil: open mode
	still    func(domain.Identity) bool
	refused  *refusals

	mu       sync.Mutex
	sessions map[*session]struct{}
	count    [classes]int
	closed   bool
	shut     chan struct{} // closed with the proxy
	working  sync.WaitGroup
}

// class is the kind of a client, by its login.
type class int

const (
	arrived class = iota // has not logged in yet
	ofTaps
	ofHistory
	classes
)

const (
	arrivedMost = 64
	historyMost = 16
)

func newProxy(o Options) *proxy {
	return &proxy{
		log: o.Logger, sessions: map[*session]struct{}{}, shut: make(chan struct{}), most: shares(o.Connections, o.Descriptors),
		tls: o.TLS, check: o.Login, still: o.Still, refused: newRefusals(),
	}
}

// secured reports whether clients need TLS or an identity.
func (p *proxy) secured() bool { return p.tls != nil || p.check != nil }

// shares splits the descriptors among the classes; 0 is no limit.
func shares(taps, descriptors int) (most [classes]int) {
	most = [classes]int{arrived: arrivedMost, ofTaps: taps, ofHistory: historyMost}
	if descriptors == 0 {
		return most
	}
	most[ofTaps] = min(taps, max(descriptors*5/8, 1))
	most[ofHistory] = min(historyMost, max(descriptors/8, 1))
	most[arrived] = min(arrivedMost, max(descriptors-most[ofTaps]-most[ofHistory], 1))
	return most
}

// run accepts connections until the proxy is closed.
func (p *proxy) run() {
	for wait := time.Duration(0); ; {
		conn, err := p.listener.Accept()
		switch {
		case err == nil:
			wait = 0
			p.enter(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // such as no free descriptor
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			p.log.Warn("tap not accepted", "error", err, "pause", wait)
			pause(wait, p.shut)
		}
	}
}

// enter adds a new connection. It never refuses: if there are too many, it closes the oldest that has not logged in.
func (p *proxy) enter(conn net.Conn) {
	inside, err := p.server.InProcessConn()
	if err != nil {
		conn.Close()
		return
	}
	s := newSession(p, conn, inside, domain.ClientOf(conn.RemoteAddr().String()))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		s.close()
		return
	}
	if p.count[arrived] >= p.most[arrived] {
		p.oldestArrived().close()
	}
	p.sessions[s] = struct{}{}
	p.count[arrived]++
	p.working.Add(2)
	go s.toClient()
	go s.fromClient()
}

// oldestArrived returns the session to close: of the client with the most sessions before their login, the oldest. The lock is held.
func (p *proxy) oldestArrived() (oldest *session) {
	by := map[string]int{}
	for s := range p.sessions {
		if s.class == arrived {
			by[s.client]++
		}
	}
	for s := range p.sessions {
		if s.class != arrived {
			continue
		}
		if oldest == nil || by[s.client] > by[oldest.client] || by[s.client] == by[oldest.client] && s.since.Before(oldest.since) {
			oldest = s
		}
	}
	p.leave(oldest)
	return oldest
}

// leave removes a session. The lock is held.
func (p *proxy) leave(s *session) {
	if _, here := p.sessions[s]; here {
		delete(p.sessions, s)
		p.count[s.class]--
	}
}

// login sets the class of a session by its first line, or returns why the session is refused.
func (p *proxy) login(s *session, line []byte) error {
	a, err := p.accessOf(s, line)
	if err != nil {
		return err
	}
	if err := p.admit(s, a); err != nil {
		return err
	}
	if a.identity.Actor != "" && !p.still(a.identity) { // it has changed since accessOf
		return refusal{byCredentials, violation, errors.New("the identity has lost its rights")}
	}
	return nil
}

// classOf tells the class of a client without an identity by its first line.
func classOf(line []byte) class {
	var login struct{ User string }
	if text, ok := connectFields(line); ok {
		_ = json.Unmarshal(text, &login) // a bad one is refused by the server
	}
	if login.User == historyUser {
		return ofHistory
	}
	return ofTaps
}

// clients returns the number of clients that have logged in.
func (p *proxy) clients() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sessions) - p.count[arrived]
}

// all returns the keys of all clients, by their connections in the server.
func (p *proxy) all() map[uint64]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[uint64]string, len(p.sessions))
	for s := range p.sessions {
		all[s.cid] = s.client
	}
	return all
}

// client returns the key of the client on a connection of the server, "" for one that is gone.
func (p *proxy) client(cid uint64) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.sessions {
		if s.cid == cid {
			return s.client
		}
	}
	return ""
}

// kick closes a client by its connection in the server. The memory of its unread messages is freed at once.
func (p *proxy) kick(cid uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.sessions {
		if s.cid == cid {
			p.leave(s)
			s.close()
			return
		}
	}
}

func (p *proxy) close() {
	if p.listener != nil {
		p.listener.Close()
	}
	p.mu.Lock()
	if !p.closed {
		close(p.shut)
	}
	p.closed = true
	for s := range p.sessions {
		s.close()
	}
	p.mu.Unlock()
	p.working.Wait()
}
