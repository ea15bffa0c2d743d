package store

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
		log: o.Logger, sessions: map[*session]struct{}{}, shut: make(chan struct{}), most: shares(o.TapConnections, o.TapDescriptors),
		tls: o.TLS, check: o.Login, still: o.Still, refused: newRefusals(),
	}
}

// secured reports whether clients need TLS or an identity.
func (d *proxy) secured() bool { return d.tls != nil || d.check != nil }

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
func (d *proxy) run() {
	for wait := time.Duration(0); ; {
		conn, err := d.listener.Accept()
		switch {
		case err == nil:
			wait = 0
			d.enter(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // such as no free descriptor
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			d.log.Warn("tap not accepted", "error", err, "pause", wait)
			pause(wait, d.shut)
		}
	}
}

// enter adds a new connection. It never refuses: if there are too many, it closes the oldest that has not logged in.
func (d *proxy) enter(conn net.Conn) {
	inside, err := d.server.InProcessConn()
	if err != nil {
		conn.Close()
		return
	}
	v := newSession(d, conn, inside, domain.ClientOf(conn.RemoteAddr().String()))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		v.close()
		return
	}
	if d.count[arrived] >= d.most[arrived] {
		d.oldestArrived().close()
	}
	d.sessions[v] = struct{}{}
	d.count[arrived]++
	d.working.Add(2)
	go v.answers()
	go v.asks()
}

// oldestArrived returns the session to close: of the client with the most sessions before their login, the oldest. The lock is held.
func (d *proxy) oldestArrived() (oldest *session) {
	by := map[string]int{}
	for v := range d.sessions {
		if v.class == arrived {
			by[v.client]++
		}
	}
	for v := range d.sessions {
		if v.class != arrived {
			continue
		}
		if oldest == nil || by[v.client] > by[oldest.client] || by[v.client] == by[oldest.client] && v.since.Before(oldest.since) {
			oldest = v
		}
	}
	d.leave(oldest)
	return oldest
}

// leave removes a session. The lock is held.
func (d *proxy) leave(v *session) {
	if _, here := d.sessions[v]; here {
		delete(d.sessions, v)
		d.count[v.class]--
	}
}

// login sets the class of a session by its first line, or returns why the session is refused.
func (d *proxy) login(v *session, line []byte) error {
	a, err := d.accessOf(v, line)
	if err != nil {
		return err
	}
	if err := d.admit(v, a); err != nil {
		return err
	}
	if a.identity.Actor != "" && !d.still(a.identity) { // it has changed since accessOf
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
func (d *proxy) clients() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sessions) - d.count[arrived]
}

// all returns the keys of all clients, by their connections in the server.
func (d *proxy) all() map[uint64]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[uint64]string, len(d.sessions))
	for v := range d.sessions {
		all[v.cid] = v.client
	}
	return all
}

// client returns the key of the client on a connection of the server, "" for one that is gone.
func (d *proxy) client(cid uint64) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for v := range d.sessions {
		if v.cid == cid {
			return v.client
		}
	}
	return ""
}

// kick closes a client by its connection in the server. The memory of its unread messages is freed at once.
func (d *proxy) kick(cid uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for v := range d.sessions {
		if v.cid == cid {
			d.leave(v)
			v.close()
			return
		}
	}
}

func (d *proxy) close() {
	if d.listener != nil {
		d.listener.Close()
	}
	d.mu.Lock()
	if !d.closed {
		close(d.shut)
	}
	d.closed = true
	for v := range d.sessions {
		v.close()
	}
	d.mu.Unlock()
	d.working.Wait()
}
