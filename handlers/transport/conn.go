package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// handshakeRecord is the first byte of TLS, the type of a record with a handshake (RFC 8446, 5.1).
	handshakeRecord = 0x16
	// handshakeWrite is how long a client may take to read the server's part of the handshake.
	handshakeWrite = 10 * time.Second
)

// conn decides at the first Read what the client speaks.
type conn struct {
	net.Conn
	config   *tls.Config
	failures *Failures
	logger   *slog.Logger

	once   sync.Once
	failed error
	chosen atomic.Pointer[stream] // nil before
}

// stream is a connection as the client uses it.
type stream struct {
	net.Conn
	tls *tls.ConnectionState // nil for plain HTTP
}

// begin reads the first byte and, for TLS, does the handshake.
func (c *conn) begin() {
	first := make([]byte, 1)
	if _, err := c.Conn.Read(first); err != nil {
		c.failed = err
		return
	}
	below := &replayed{Conn: c.Conn, first: first}
	if first[0] != handshakeRecord {
		c.chosen.Store(&stream{Conn: below})
		return
	}
	t := tls.Server(below, c.config)
	_ = c.SetWriteDeadline(time.Now().Add(handshakeWrite))
	if err := t.HandshakeContext(context.Background()); err != nil { // net/http has set a deadline for reading
		c.failed = err
		c.failures.add(err)
		c.logger.Debug("TLS handshake failed", "remote", c.RemoteAddr().String(), "error", err)
		return
	}
	_ = c.SetWriteDeadline(time.Time{})
	state := t.ConnectionState()
	c.chosen.Store(&stream{t, &state})
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	c.once.Do(c.begin)
	if s := c.chosen.Load(); s != nil {
		return s.Read(b)
	}
	return 0, c.failed
}

var errNoStream = errors.New("the client has not begun yet")

// Write implements net.Conn. Before the client has said what it speaks, nothing can be written.
func (c *conn) Write(b []byte) (int, error) {
	if s := c.chosen.Load(); s != nil {
		return s.Write(b)
	}
	return 0, errNoStream
}

// Close implements net.Conn.
func (c *conn) Close() error {
	if s := c.chosen.Load(); s != nil {
		return s.Close()
	}
	return c.Conn.Close()
}

// CloseWrite tells the client that no more comes.
func (c *conn) CloseWrite() error {
	if s := c.chosen.Load(); s != nil && s.tls != nil {
		if err := s.Conn.(*tls.Conn).CloseWrite(); err != nil {
			return err
		}
	}
	if below, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return below.CloseWrite()
	}
	return nil
}

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// tlsState is nil for plain HTTP.
func (c *conn) tlsState() *tls.ConnectionState {
	if s := c.chosen.Load(); s != nil {
		return s.tls
	}
	return nil
}

// isLocal reports whether both ends are loopback addresses.
func (c *conn) isLocal() bool {
	for _, a := range []net.Addr{c.RemoteAddr(), c.LocalAddr()} {
		ap, err := netip.ParseAddrPort(a.String())
		if err != nil || !ap.Addr().Unmap().IsLoopback() {
			return false
		}
	}
	return true
}

// replayed gives the first bytes again. Only one goroutine reads at a time.
type replayed struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (r *replayed) Read(b []byte) (int, error) {
	if len(r.first) == 0 || len(b) == 0 {
		return r.Conn.Read(b)
	}
	n := copy(b, r.first)
	r.first = r.first[n:]
	return n, nil
}
