// Package redis takes the messages that EdgeX services publish with Redis Pub/Sub, as they do by default.
//
// It speaks as much of RESP2 as their clients need to publish. A message becomes one of EdgeX's message bus on NATS.
// A client gets the reply when the stream has the message. It cannot subscribe.
package redis

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"ledge/bridge/edgex"
	"ledge/domain"
)

// Options configures [New].
type Options struct {
	// Publish publishes a message, and returns when the stream has it.
	Publish func(context.Context, edgex.Message) error
	// Login returns the identity of a client, by the user and password or by the token that it sends; address is its IP address. The error
	// of a refusal is a domain.Error. nil is open mode.
	Login func(ctx context.Context, user, password, token, address string) (domain.Identity, error)
	// Still reports whether an identity still has its rights.
	Still func(domain.Identity) bool
	// Connections is the most clients that have logged in, half of them from one address.
	Connections int
	// Arrived is the most connections that have not logged in.
	Arrived int
	Logger  *slog.Logger
}

const (
	// Connections is the most clients that have logged in, if there are enough descriptors.
	Connections = 64
	// Arrived is the most connections that have not logged in, if there are enough descriptors.
	Arrived = 64
	// loginWait is how long a client may take to log in, and writeWait how long it may take to read a reply.
	loginWait, writeWait = 10 * time.Second, 10 * time.Second
	// sayRate and sayBurst are how much the clients of one address may send in a second, and at once, in bytes.
	sayRate, sayBurst = 1 << 20, 4 << 20
	// recheckEvery is the time between two checks of the rights of all clients.
	recheckEvery = 10 * time.Second
	// acceptPause is the time after a failed accept.
	acceptPause = 100 * time.Millisecond
)

// Server serves Redis clients.
type Server struct {
	o        Options
	listener net.Listener
	working  sync.WaitGroup
	stop     context.CancelFunc
	alive    context.Context

	mu      sync.Mutex // guards the fields below
	clients map[*client]bool
	rates   map[string]*rate.Limiter // by address
	logged  time.Time                // the last line about a refusal
}

// client is a connection.
type client struct {
	net.Conn
	client string // its address
	since  time.Time
	alive  context.Context // until the connection ends
	end    context.CancelFunc

	mu       sync.Mutex // guards the fields below
	in       bool       // whether it has logged in
	identity domain.Identity
	token    string // with which it has logged in, "" for a password
}

func (c *client) isIn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.in
}

func (c *client) close() {
	c.end()
	c.Close()
}

// New serves the clients that a listener accepts, until Close.
func New(o Options, l net.Listener) *Server {
	s := &Server{o: o, listener: l, clients: map[*client]bool{}, rates: map[string]*rate.Limiter{}}
	s.alive, s.stop = context.WithCancel(context.Background())
	s.working.Go(s.acceptClients)
	if o.Login != nil {
		s.working.Go(s.recheckAgain)
	}
	return s
}

// Close ends all connections. It can be called on nil.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.stop()
	s.listener.Close()
	s.mu.Lock()
	for c := range s.clients {
		c.close()
	}
	s.mu.Unlock()
	s.working.Wait()
}

func (s *Server) acceptClients() {
	for s.alive.Err() == nil {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			s.enter(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // such as no free descriptor
			s.o.Logger.Warn("Redis client not accepted", "error", err, "pause", acceptPause)
			select {
			case <-time.After(acceptPause):
			case <-s.alive.Done():
			}
		}
	}
}

// enter serves a new connection. If too many have not logged in, it closes the oldest of the address that has the most.
func (s *Server) enter(conn net.Conn) {
	c := &client{Conn: conn, client: domain.ClientOf(conn.RemoteAddr().String()), since: time.Now()}
	c.alive, c.end = context.WithCancel(s.alive)
	if s.o.Login == nil {
		if err := s.admit(c, domain.Identity{}, ""); err != nil {
			s.logRefusal(c, err)
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(conn, "-ERR "+err.Error()+"\r\n")
			c.close()
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alive.Err() != nil {
		c.close()
		return
	}
	if oldest := s.oldestArrived(); oldest != nil && !c.isIn() {
		oldest.close()
		delete(s.clients, oldest)
	}
	s.clients[c] = true
	limit := s.rates[c.client]
	if limit == nil {
		limit = rate.NewLimiter(sayRate, sayBurst)
		s.rates[c.client] = limit
	}
	s.working.Go(func() { s.serve(c, limit) })
}

// oldestArrived returns the connection to close before another one, nil if there are few. The lock is held.
func (s *Server) oldestArrived() (oldest *client) {
	by, all := map[string]int{}, 0
	for c := range s.clients {
		if !c.isIn() {
			by[c.client]++
			all++
		}
	}
	if all < s.o.Arrived {
		return nil
	}
	for c := range s.clients {
		if c.isIn() {
			continue
		}
		if oldest == nil || by[c.client] > by[oldest.client] || by[c.client] == by[oldest.client] && c.since.Before(oldest.since) {
			oldest = c
		}
	}
	return oldest
}

// errConnections refuses a client beyond a limit.
var errConnections = errors.New("max number of clients reached")

// admit notes that a client has logged in, within the limits of connections.
func (s *Server) admit(c *client, identity domain.Identity, token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, same := 0, 0
	for other := range s.clients {
		if other != c && other.isIn() {
			all++
			if other.client == c.client {
				same++
			}
		}
	}
	if all >= s.o.Connections || same >= (s.o.Connections+1)/2 {
		return errConnections
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in, c.identity, c.token = true, identity, token
	_ = c.SetReadDeadline(time.Time{})
	return nil
}

// serve answers the commands of a client, one after the other: replies of many commands do not wait in memory.
func (s *Server) serve(c *client, limit *rate.Limiter) {
	defer s.leave(c)
	if !c.isIn() {
		_ = c.SetReadDeadline(c.since.Add(loginWait))
	}
	r := bufio.NewReaderSize(limited{c.Conn, limit, c.alive}, lineMost)
	w := bufio.NewWriterSize(c.Conn, lineMost)
	for {
		most := commandMost
		if !c.isIn() {
			most = earlyMost
		}
		args, err := readCommand(r, most)
		var reply string
		switch {
		case err == nil:
			reply, err = s.answer(c, args)
		case errors.Is(err, errProtocol):
			reply = "-ERR " + oneLine(err)
			s.o.Logger.Debug("Redis client cut off", "client", c.client, "reason", err)
		default:
			return
		}
		_ = c.SetWriteDeadline(time.Now().Add(writeWait))
		_, _ = w.WriteString(reply + "\r\n")
		if err != nil || r.Buffered() == 0 {
			if w.Flush() != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// leave forgets a connection.
func (s *Server) leave(c *client) {
	c.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
	for other := range s.clients {
		if other.client == c.client {
			return
		}
	}
	delete(s.rates, c.client)
}

// Recheck ends the connections whose identity has lost its rights. It can be called on nil.
func (s *Server) Recheck() {
	if s != nil && s.o.Login != nil {
		s.recheck(false)
	}
}

func (s *Server) recheckAgain() {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.alive.Done():
			return
		case <-tick.C:
			s.recheck(true)
		}
	}
}

// recheck checks the identities of all clients. With tokens, each token is checked anew, which notices the end of a JWT.
func (s *Server) recheck(tokens bool) {
	s.mu.Lock()
	all := make([]*client, 0, len(s.clients))
	for c := range s.clients {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.mu.Lock()
		in, identity, token := c.in, c.identity, c.token
		c.mu.Unlock()
		isLost := in && (!s.o.Still(identity) || tokens && s.expired(c, identity, token))
		if !isLost {
			continue
		}
		s.o.Logger.Warn("Redis client cut off: its identity has lost its rights, or has new credentials",
			"client", c.client, "actor", identity.Actor)
		c.close()
	}
}

// expired reports whether a token is refused now, or stands for another identity.
func (s *Server) expired(c *client, was domain.Identity, token string) bool {
	if token == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(c.alive, loginWait)
	defer cancel()
	now, err := s.o.Login(ctx, "", "", token, c.client)
	if err != nil {
		known, ok := errors.AsType[*domain.Error](err)
		return ok && (known.Code == domain.Unauthenticated || known.Code == domain.Forbidden)
	}
	return now.Actor != was.Actor || now.Role != was.Role || !slices.Equal(now.Devices, was.Devices)
}
