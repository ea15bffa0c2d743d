package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"ledge/domain"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/time/rate"
)

// gate accepts clients and connects each to the server. It bounds connections by client, which the server cannot, and how much a client
// says. The bytes of a NATS client pass through; those of others are translated, see [upstream]. The server learns the client's address by
// the PROXY protocol.
type gate struct {
	listener net.Listener
	log      *slog.Logger
	tls      bool
	arrived  int // the most sessions that have not logged in
	most     int // the most that have, half of them from one client
	*refusals

	mu       sync.Mutex // guards the fields below
	server   *server.Server
	sessions map[string]*session // by the addresses of their clients
	rates    map[string]*rate.Limiter
	opened   sync.Once
	ready    chan struct{} // closed by the first call of open
	working  sync.WaitGroup
}

// session is the connection of a client, with the connection inside the server that it is connected to.
type session struct {
	outside, inside net.Conn
	client, address string
	protocol        string
	since           time.Time
	rate            *rate.Limiter   // of the bytes that the client sends
	alive           context.Context // until the connection ends
	end             context.CancelFunc

	in      bool // whether it has logged in; under the gate's lock, as are the fields below
	access  access
	refused error  // why the last login was refused
	name    string // of an MQTT client
}

// access is the identity and the connection of a client that has logged in.
type access struct {
	cid      uint64 // of the connection in the server
	identity domain.Identity
	token    string // with which the client has logged in, "" for a password
}

// The protocols of clients.
const (
	overNATS  = "NATS"
	overRedis = "Redis"
	overMQTT  = "MQTT"
)

const (
	arrivedMost = 64
	// sayRate and sayBurst are how much one client may send in a second, and at once, in bytes: requests and acknowledgements.
	sayRate, sayBurst = 1 << 20, 4 << 20
	// copyBytes is how much is read at a time.
	copyBytes = 32 << 10
)

func newGate(o Options, l net.Listener) *gate {
	g := &gate{listener: l, log: o.Logger, tls: o.TLS != nil, arrived: arrivedMost, most: o.Connections, refusals: newRefusals(),
		sessions: map[string]*session{}, rates: map[string]*rate.Limiter{}, ready: make(chan struct{})}
	if o.Descriptors > 0 {
		g.most = min(g.most, max(o.Descriptors*3/4, 1))
		g.arrived = min(g.arrived, max(o.Descriptors-g.most, 1))
	}
	return g
}

// open lets clients in from now on, to a server. Earlier clients wait for the first call.
func (g *gate) open(s *server.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server = s
	g.opened.Do(func() {
		close(g.ready)
		g.working.Go(g.run)
	})
}

// close ends all sessions, and refuses connections until the next call of open.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server = nil
	for _, s := range g.sessions {
		s.close()
	}
}

// run accepts NATS clients until the listener is closed.
func (g *gate) run() {
	g.acceptAll(g.listener, func(conn net.Conn) {
		if s := g.enter(conn, overNATS); s != nil {
			g.working.Go(func() { g.toClient(s) })
			g.working.Go(func() { g.fromClient(s) })
		}
	})
}

// acceptAll accepts connections until the listener is closed.
func (g *gate) acceptAll(l net.Listener, enter func(net.Conn)) {
	for wait := time.Duration(0); ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			wait = 0
			enter(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // such as no free descriptor
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			g.log.Warn("client of the bus not accepted", "error", err, "pause", wait)
			pauseFor(wait, nil)
		}
	}
}

// enter adds a new connection of a client. It refuses only while the server is not running, with nil: if there are too many, it closes the
// oldest that has not logged in.
func (g *gate) enter(conn net.Conn, protocol string) *session {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.server == nil {
		conn.Close()
		return nil
	}
	inside, err := g.server.InProcessConn()
	if err != nil {
		conn.Close()
		return nil
	}
	return g.addSession(conn, inside, protocol)
}

// addSession adds a session. The lock is held.
func (g *gate) addSession(outside, inside net.Conn, protocol string) *session {
	address := outside.RemoteAddr().String()
	s := &session{
		outside: outside, inside: inside, client: domain.ClientOf(address), address: address, protocol: protocol, since: time.Now(),
	}
	s.alive, s.end = context.WithCancel(context.Background())
	if g.arriving() >= g.arrived {
		g.oldestArrived().close()
	}
	if old := g.sessions[address]; old != nil { // it has ended, or is at another port of ours
		old.close()
	}
	g.sessions[address] = s
	s.rate = g.rateOf(s.client)
	return s
}

// leave ends and forgets a session.
func (g *gate) leave(s *session) {
	s.close()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions[s.address] == s {
		delete(g.sessions, s.address)
	}
}

// arriving returns how many sessions have not logged in. The lock is held.
func (g *gate) arriving() (n int) {
	for _, s := range g.sessions {
		if !s.in && s.alive.Err() == nil {
			n++
		}
	}
	return n
}

// oldestArrived returns the session to close: of the client with the most sessions before their login, the oldest. The lock is held.
func (g *gate) oldestArrived() (oldest *session) {
	by := map[string]int{}
	for _, s := range g.sessions {
		if !s.in && s.alive.Err() == nil {
			by[s.client]++
		}
	}
	for _, s := range g.sessions {
		if s.in || s.alive.Err() != nil {
			continue
		}
		if oldest == nil || by[s.client] > by[oldest.client] || by[s.client] == by[oldest.client] && s.since.Before(oldest.since) {
			oldest = s
		}
	}
	return oldest
}

// rateOf returns the limit of the bytes that a client sends, which all its sessions share. The lock is held.
func (g *gate) rateOf(client string) *rate.Limiter {
	for known := range g.rates {
		if !g.has(known) {
			delete(g.rates, known)
		}
	}
	if g.rates[client] == nil {
		g.rates[client] = rate.NewLimiter(sayRate, sayBurst)
	}
	return g.rates[client]
}

// has reports whether a client has a session. The lock is held.
func (g *gate) has(client string) bool {
	for _, s := range g.sessions {
		if s.client == client {
			return true
		}
	}
	return false
}

// close ends the session. Its memory is freed at once.
func (s *session) close() {
	s.end()
	s.outside.Close()
	s.inside.Close()
}

// toClient copies from the server to the client, until one of them ends. A client that does not read for [writeWait] is cut off.
func (g *gate) toClient(s *session) {
	defer g.leave(s)
	buffer := make([]byte, copyBytes)
	for first := true; ; first = false {
		n, err := s.inside.Read(buffer)
		if err != nil {
			return
		}
		said := buffer[:n]
		if first && g.tls { // a server takes a connection inside the process for one that may do without
			said = bytes.Replace(said, []byte(`"tls_available":true`), []byte(`"tls_required":true`), 1)
		}
		_ = s.outside.SetWriteDeadline(time.Now().Add(writeWait))
		if _, err := s.outside.Write(said); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				g.log.Warn(s.protocol+" client cut off: it reads nothing", "client", s.client, "after", writeWait)
			}
			return
		}
	}
}

// fromClient copies from the client to the server, until one of them ends. If it is the server, toClient closes the session, after it has
// passed on why.
func (g *gate) fromClient(s *session) {
	if s.introduce() != nil {
		return
	}
	buffer := make([]byte, copyBytes)
	for {
		n, err := s.outside.Read(buffer)
		if err != nil || s.rate.WaitN(s.alive, n) != nil {
			s.close()
			return
		}
		if _, err := s.inside.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// introduce tells the server the address of the client.
func (s *session) introduce() error {
	_, err := s.inside.Write(proxyLine(s.outside))
	return err
}

// proxyLine is the header of the PROXY protocol, version 1, for a connection.
func proxyLine(c net.Conn) []byte {
	from, _ := c.RemoteAddr().(*net.TCPAddr)
	to, _ := c.LocalAddr().(*net.TCPAddr)
	family := "TCP6"
	if from.IP.To4() != nil && to.IP.To4() != nil {
		family = "TCP4"
	}
	return fmt.Appendf(nil, "PROXY %s %s %s %d %d\r\n", family, from.IP, to.IP, from.Port, to.Port)
}

// sessionAt returns the session of the client at a remote address, or nil.
func (g *gate) sessionAt(address string) *session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[address]
}

// admit notes that a client has logged in, within the limits of connections.
func (g *gate) admit(s *session, a access) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, same := 0, 0
	for _, other := range g.sessions {
		if other.in && other != s {
			all++
			if other.client == s.client {
				same++
			}
		}
	}
	if all >= g.most || same >= (g.most+1)/2 {
		return refusal{byConnections, fmt.Errorf("maximum connections exceeded: %d, and %d from %s", all, same, s.client)}
	}
	s.in, s.access = true, a
	return nil
}

// takeOver names a session by its MQTT client, and ends another session of this name with the same identity.
func (g *gate) takeOver(s *session, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, other := range g.sessions {
		if other != s && name != "" && other.name == name && other.access.identity.Actor == s.access.identity.Actor {
			other.close()
		}
	}
	s.name = name
}

// refuse counts a refusal and logs the reason. The server tells a NATS client.
func (g *gate) refuse(s *session, why error) {
	g.mu.Lock()
	s.refused = why
	g.mu.Unlock()
	reason := byCredentials
	if r, ok := errors.AsType[refusal](why); ok {
		reason = r.reason
	}
	if g.add(reason, s.client, time.Now()) {
		g.log.Warn(s.protocol+" client refused; more refusals of this address are not logged for a minute",
			"client", s.client, "reason", why)
	}
}

// whyRefused returns why the last login of a client was refused; nil if none was.
func (g *gate) whyRefused(s *session) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.refused
}

// identified returns the sessions with an identity.
func (g *gate) identified() map[*session]access {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[*session]access{}
	for _, s := range g.sessions {
		if s.access.identity.Actor != "" {
			all[s] = s.access
		}
	}
	return all
}

// loggedIn returns the sessions that have logged in, by their connections in the server.
func (g *gate) loggedIn() map[uint64]*session {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[uint64]*session{}
	for _, s := range g.sessions {
		if s.in {
			all[s.access.cid] = s
		}
	}
	return all
}

// clientOf returns the client on a connection of the server; "" for one that has not logged in.
func (g *gate) clientOf(cid uint64) string {
	if s := g.loggedIn()[cid]; s != nil {
		return s.client
	}
	return ""
}

// Clients returns the number of clients that have logged in.
func (b *Bus) Clients() int {
	if b == nil {
		return 0
	}
	return len(b.gate.loggedIn())
}
