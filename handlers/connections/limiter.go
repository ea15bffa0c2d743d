// Package connections limits the connections of HTTP services: in total, for each service and for each client.
//
// At a limit the connection that has been idle for longest is closed, of the client that has the most connections. A
// connection with a request in work is never closed, and none of a client that has fewer than the one that connects. If no
// connection can be closed, the new one is refused.
package connections

import (
	"context"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"ledge/domain"
)

// Limits are numbers of connections. They are 1 or more, except for Client.
type Limits struct {
	// Total is for all services together, Service for each of them.
	Total, Service int
	// Client is for each client at all services; with 0 a client may have three times as many as are free.
	Client int
}

// Counts are what a [Limiter] has seen.
type Counts struct {
	// Open is how many connections there are now.
	Open int
	// Closed is how many idle ones were closed at a limit since the start, Refused how many new ones.
	Closed, Refused int
}

// Limiter keeps the connections of several services within their limits.
type Limiter struct {
	limits Limits
	logger *slog.Logger

	mu       sync.Mutex
	open     map[*conn]struct{}
	services map[string]int
	clients  map[string]int
	counts   Counts
	logged   time.Time // when a limit was last logged
}

// logEvery is how often the log may say that a limit is reached.
const logEvery = time.Minute

// New returns a limiter without connections.
func New(limits Limits, logger *slog.Logger) *Limiter {
	return &Limiter{limits: limits, logger: logger, open: map[*conn]struct{}{}, services: map[string]int{}, clients: map[string]int{}}
}

// Counts returns the numbers of now.
func (l *Limiter) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.Open = len(l.open)
	return l.counts
}

// Serve is srv.Serve within the limits. It sets ConnState of srv, adds to its ConnContext and wraps its Handler. wrap is
// applied to each connection that is admitted, such as for TLS; it must not wait for the client, and what it returns must have
// a method NetConn. nil is for plain HTTP.
func (l *Limiter) Serve(srv *http.Server, service string, listener net.Listener, wrap func(net.Conn) net.Conn) error {
	srv.ConnState = func(c net.Conn, state http.ConnState) { limited(c).became(state) }
	before := srv.ConnContext
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, c)
		}
		return context.WithValue(ctx, connKey{}, limited(c))
	}
	next := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok && c.idle.Load() == closed {
			panic(http.ErrAbortHandler) // the request came just when the connection was closed; nobody would see its answer
		}
		next.ServeHTTP(w, r)
	})
	return srv.Serve(&limitedListener{listener, l, service, wrap})
}

type limitedListener struct {
	net.Listener
	limiter *Limiter
	service string
	wrap    func(net.Conn) net.Conn
}

// Accept implements net.Listener. It closes connections that are refused, and goes on.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		remote := inner.RemoteAddr().String()
		c := &conn{Conn: inner, limiter: l.limiter, service: l.service, client: domain.ClientOf(remote), remote: remote}
		c.idle.Store(time.Now().UnixNano())
		if !l.limiter.admit(c) {
			inner.Close()
			continue
		}
		if l.wrap != nil {
			return l.wrap(c), nil
		}
		return c, nil
	}
}

// admit adds a connection, after it has closed as many idle ones as necessary; false where that is not possible.
func (l *Limiter) admit(c *conn) bool {
	var victims []*conn
	l.mu.Lock()
	admitted := false
	for {
		among := l.full(c)
		if among == nil {
			l.add(c)
			admitted = true
			break
		}
		victim := l.longestIdle(among)
		if victim == nil {
			l.counts.Refused++
			break
		}
		l.remove(victim)
		l.counts.Closed++
		victims = append(victims, victim)
	}
	if !admitted || len(victims) > 0 {
		l.log()
	}
	l.mu.Unlock()
	for _, victim := range victims {
		victim.Close()
	}
	return admitted
}

// full returns which connections may be closed for c, nil where there is room.
func (l *Limiter) full(c *conn) (among func(*conn) bool) {
	mine, free := l.clients[c.client], l.limits.Total-len(l.open)
	switch {
	case l.limits.Client > 0 && mine >= l.limits.Client:
		return func(other *conn) bool { return other.client == c.client }
	case l.services[c.service] >= l.limits.Service:
		return func(other *conn) bool { return other.service == c.service && l.clients[other.client] >= mine }
	case free <= 0, l.limits.Client == 0 && int64(mine) >= domain.Share(int64(mine), int64(free)):
		return func(other *conn) bool { return l.clients[other.client] >= mine }
	}
	return nil
}

// longestIdle claims an idle connection of the client that has the most connections.
func (l *Limiter) longestIdle(among func(*conn) bool) *conn {
	for {
		var longest *conn
		most, since := 0, int64(math.MaxInt64)
		for c := range l.open {
			idle := c.idle.Load()
			if n := l.clients[c.client]; idle > 0 && (n > most || n == most && idle < since) && among(c) {
				longest, most, since = c, n, idle
			}
		}
		if longest == nil || longest.idle.CompareAndSwap(since, closed) {
			return longest
		}
	}
}

func (l *Limiter) add(c *conn) {
	l.open[c] = struct{}{}
	l.services[c.service]++
	l.clients[c.client]++
}

func (l *Limiter) remove(c *conn) {
	if _, there := l.open[c]; !there {
		return
	}
	delete(l.open, c)
	l.services[c.service]--
	if l.clients[c.client]--; l.clients[c.client] == 0 {
		delete(l.clients, c.client)
	}
}

func (l *Limiter) log() {
	if now := time.Now(); now.Sub(l.logged) >= logEvery {
		l.logged = now
		l.logger.Warn("the limit of connections is reached; the longest idle one is closed for each new one",
			"open", len(l.open), "closed", l.counts.Closed, "refused", l.counts.Refused)
	}
}
