// Package connections limits the connections of HTTP services: in total, for each service and for each client.
//
// At a limit the connection that has been idle for longest is closed, of the client that has the most connections. A
// connection with a request in work is never closed, and none of a client that has fewer than the one that connects. If no
// connection can be closed, the new one is refused. A request is in work from the end of its header on.
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
	// Client is for each client at all services; with 0 a client may have three times as many as are free, of Total and of Service.
	Client int
}

// Of a request's header, net/http keeps each line. So the lines are limited, and how many headers longer than shortHeader may be under way.
const (
	mostHeaderLines = 100
	shortHeader     = 4 << 10
	mostLongHeaders = 128
)

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
	shares   map[share]int
	long     map[string]int // long headers under way, by client
	allLong  int
	counts   Counts
	logged   time.Time // when a limit was last logged
}

// share is what a client has of a service.
type share struct{ service, client string }

// logEvery is how often the log may say that a limit is reached.
const logEvery = time.Minute

// New returns a limiter without connections.
func New(limits Limits, logger *slog.Logger) *Limiter {
	return &Limiter{limits: limits, logger: logger, open: map[*conn]struct{}{}, services: map[string]int{}, clients: map[string]int{}, shares: map[share]int{}, long: map[string]int{}}
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
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateIdle {
			c.(*headerConn).restart()
			limited(c).rests()
		}
	}
	before := srv.ConnContext
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, c.(*headerConn).Conn)
		}
		return context.WithValue(ctx, connKey{}, limited(c))
	}
	next := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if ok && !c.works() {
			panic(http.ErrAbortHandler) // the request came just when the connection was closed; nobody would see its answer
		}
		if ok && c.twoLengths { // RFC 9112, 6.1: net/http would believe one of them, and a proxy before it perhaps the other
			w.Header().Set("Connection", "close")
			http.Error(w, "the request has both Content-Length and Transfer-Encoding; send one of them", http.StatusBadRequest)
			return
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
		c.idle.Store(elapsed())
		if !l.limiter.admit(c) {
			inner.Close()
			continue
		}
		if l.wrap != nil {
			return &headerConn{Conn: l.wrap(c), below: c}, nil
		}
		return &headerConn{Conn: c, below: c}, nil
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
	here, freeHere := l.shares[share{c.service, c.client}], l.limits.Service-l.services[c.service]
	switch {
	case l.limits.Client > 0 && mine >= l.limits.Client:
		return func(other *conn) bool { return other.client == c.client }
	case freeHere <= 0, l.limits.Client == 0 && int64(here) >= domain.Share(int64(here), int64(freeHere)):
		return func(other *conn) bool {
			return other.service == c.service && l.shares[share{c.service, other.client}] >= here
		}
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
	l.shares[share{c.service, c.client}]++
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
	key := share{c.service, c.client}
	if l.shares[key]--; l.shares[key] == 0 {
		delete(l.shares, key)
	}
	l.endHeader(c)
}

// longHeader counts a long header; false where there are too many.
func (l *Limiter) longHeader(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.open[c]; !there {
		return false
	}
	held := int64(l.long[c.client])
	if held+1 > domain.Share(held, int64(mostLongHeaders-l.allLong)) {
		l.counts.Refused++
		l.log()
		return false
	}
	l.long[c.client]++
	l.allLong++
	c.long = true
	return true
}

// endHeader is called with the lock held.
func (l *Limiter) endHeader(c *conn) {
	if !c.long {
		return
	}
	c.long = false
	l.allLong--
	if l.long[c.client]--; l.long[c.client] == 0 {
		delete(l.long, c.client)
	}
}

func (l *Limiter) log() {
	if now := time.Now(); now.Sub(l.logged) >= logEvery {
		l.logged = now
		l.logger.Warn("the limit of connections is reached; the longest idle one is closed for each new one",
			"open", len(l.open), "closed", l.counts.Closed, "refused", l.counts.Refused)
	}
}
