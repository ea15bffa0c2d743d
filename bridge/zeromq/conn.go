package zeromq

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// conn is what zmq4 takes for the connection of a subscriber. zmq4 reads a handshake that never
// fails and one subscription to everything; nothing a peer sends reaches zmq4's parsers. What
// zmq4 writes goes to a sink, and no call but Read blocks.
type conn struct {
	local, remote net.Addr
	canned        *bytes.Reader
	out           *assembler
	onClose       func(*conn)

	joinOnce sync.Once
	joined   chan struct{} // closed when zmq4 will write every message that is sent from now on
	shutOnce sync.Once
	closed   chan struct{}
}

func newConn(s sink, local, remote net.Addr, onClose func(*conn)) *conn {
	canned := append(greeting(nullMechanism), commandFrame("READY", socketTypeIs("SUB"))...)
	canned = append(canned, 0, 1, 1) // a frame of one byte: subscribe to ""
	return &conn{
		local: local, remote: remote,
		canned:  bytes.NewReader(canned),
		out:     newAssembler(s),
		onClose: onClose,
		joined:  make(chan struct{}),
		closed:  make(chan struct{}),
	}
}

// Read returns the canned bytes. zmq4 reads on only after it has applied the subscription, so
// that read is the sign of a complete join. Then the only thing left to read is io.EOF, the one
// error for which zmq4 is certain to forget a connection.
func (c *conn) Read(p []byte) (int, error) {
	if c.canned.Len() > 0 {
		return c.canned.Read(p)
	}
	c.joinOnce.Do(func() { close(c.joined) })
	<-c.closed
	return 0, io.EOF
}

// Write never fails: zmq4 learns from Read alone that a connection has ended.
func (c *conn) Write(p []byte) (int, error) {
	c.out.write(p)
	return len(p), nil
}

// Close is called by zmq4. What it calls in turn must call shut.
func (c *conn) Close() error {
	c.onClose(c)
	return nil
}

// shut has zmq4 read io.EOF.
func (c *conn) shut() {
	c.shutOnce.Do(func() { close(c.closed) })
}

func (c *conn) LocalAddr() net.Addr              { return c.local }
func (c *conn) RemoteAddr() net.Addr             { return c.remote }
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
