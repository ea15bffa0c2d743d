package connections

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"ledge/domain"
)

// conn is a connection that counts for the limits until it is closed.
type conn struct {
	net.Conn
	limiter         *Limiter
	service, client string
	remote          string // address of the peer, host:port
	// idle is since when there is no request in work, in nanoseconds since the start of the program, or busy, or closed by the limiter.
	idle atomic.Int64
	long bool // a long header is under way; guarded by the limiter's mu
	// twoLengths says that the last header has Content-Length and Transfer-Encoding. Only net/http's goroutine of the connection uses it.
	twoLengths bool
}

const (
	busy   = 0
	closed = -1
)

type connKey struct{}

// limited returns the connection of ours below c, which may be one with TLS.
func limited(c net.Conn) *conn {
	for {
		switch outer := c.(type) {
		case *conn:
			return outer
		case interface{ NetConn() net.Conn }:
			c = outer.NetConn()
		default:
			return &conn{Conn: c}
		}
	}
}

// works is called when a request begins; false where the connection was closed just now.
func (c *conn) works() bool {
	since := c.idle.Load()
	return since == busy || since > busy && c.idle.CompareAndSwap(since, busy)
}

// rests is called when a request has ended.
func (c *conn) rests() { c.idle.CompareAndSwap(busy, elapsed()) }

var begun = time.Now()

// elapsed returns the nanoseconds since the start of the program, 1 or more, whatever the clock is set to meanwhile.
func elapsed() int64 { return max(1, int64(time.Since(begun))) }

// Close implements net.Conn.
func (c *conn) Close() error {
	if c.limiter != nil {
		c.limiter.mu.Lock()
		c.limiter.remove(c)
		c.limiter.mu.Unlock()
	}
	return c.Conn.Close()
}

// CloseWrite tells the client that no more comes; net/http asks for it, so that the client can read the answer to a request
// that is refused before all of it was read.
func (c *conn) CloseWrite() error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.CloseWrite()
	}
	return nil
}

// Client returns the client of a request, with which it shares limits.
func Client(r *http.Request) string {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok && c.client != "" && c.remote == r.RemoteAddr { // which is another one where a proxy passes it on
		return c.client
	}
	return domain.ClientOf(r.RemoteAddr)
}
