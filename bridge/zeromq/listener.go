package zeromq

import (
	"bufio"
	"container/list"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// accept takes connections until the listener is closed. When none can be taken, for want of
// file descriptors for instance, it waits longer and longer, up to a second.
func (p *Publisher) accept() {
	var pause time.Duration
	for {
		tcp, err := p.tcp.AcceptTCP()
		switch {
		case err == nil:
			pause = 0
			e := p.handshakes.add(tcp) // here, so that they are in the order of their accepts
			p.running.Go(func() { p.serve(tcp, e) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			p.o.Logger.Warn("connection not accepted", "port", p.port, "error", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-p.unbound:
				return
			}
		}
	}
}

// serve takes one connection from its accept to its end.
func (p *Publisher) serve(tcp *net.TCPConn, e *list.Element) {
	s, err := p.greet(tcp)
	p.handshakes.remove(e)
	if err != nil {
		_ = tcp.Close()
		p.refusals.report(tcp.RemoteAddr(), err)
		return
	}
	defer p.remove(s)
	if !p.door.admit(s.conn) {
		return
	}
	s.joined.Store(true)
	p.o.Logger.Info("subscriber joined", "remote", s.remote, "port", p.port, "subscribers", p.Subscribers())
	defer s.report()
	writer := make(chan struct{})
	go func() {
		defer close(writer)
		s.write()
	}()
	s.end(s.read())
	<-writer
	s.joined.Store(false)
}

// greet performs the handshake and takes the peer among the subscribers.
func (p *Publisher) greet(tcp *net.TCPConn) (*subscriber, error) {
	if !p.o.allows(remoteAddr(tcp)) {
		return nil, errors.New("address is not in the allowed networks")
	}
	if err := tcp.SetDeadline(time.Now().Add(p.o.HandshakeTimeout)); err != nil {
		return nil, err
	}
	r := bufio.NewReader(tcp)
	if err := shake(tcp, r); err != nil {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	if err := tcp.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	// Later than any write deadline: when the kernel ends a connection, a reader may see a plain
	// io.EOF, and a stall would pass for a leave.
	setUserTimeout(tcp, 3*p.o.StallTimeout)
	return p.add(newSubscriber(p, tcp, r))
}

func remoteAddr(c net.Conn) netip.Addr {
	a, _ := c.RemoteAddr().(*net.TCPAddr)
	return a.AddrPort().Addr()
}

// handshakes holds the connections that have yet to complete one. Above the limit the oldest is
// closed, so that idle connections cannot keep a subscriber out.
type handshakes struct {
	mu     sync.Mutex
	conns  list.List
	closed bool
}

func (h *handshakes) add(c net.Conn) *list.Element {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		_ = c.Close()
	}
	if h.conns.Len() >= maxHandshakes {
		oldest := h.conns.Front()
		_ = oldest.Value.(net.Conn).Close()
		h.conns.Remove(oldest)
	}
	return h.conns.PushBack(c)
}

func (h *handshakes) remove(e *list.Element) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns.Remove(e)
}

func (h *handshakes) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for e := h.conns.Front(); e != nil; e = e.Next() {
		_ = e.Value.(net.Conn).Close()
	}
}

// refusals logs refused peers, at most one a second: anyone can be refused as often as they like.
type refusals struct {
	logger *slog.Logger
	port   int

	mu       sync.Mutex
	last     time.Time
	unlogged int
}

func (r *refusals) report(remote net.Addr, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last) < time.Second {
		r.unlogged++
		return
	}
	r.logger.Warn("peer refused", "remote", remote, "port", r.port, "reason", err, "unlogged", r.unlogged)
	r.last, r.unlogged = time.Now(), 0
}
