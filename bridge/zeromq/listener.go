package zeromq

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net"
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
			c, err := p.admit(tcp) // here, so that they are in the order of their accepts
			if err != nil {
				_ = tcp.Close()
				p.refusals.report(tcp.RemoteAddr(), err)
				continue
			}
			p.running.Go(func() { p.serve(c) })
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

func (p *Publisher) admit(tcp *net.TCPConn) (*connection, error) {
	if !p.audiences.allow(addressOfPeer(tcp)) {
		err := refuse(ReasonNetwork, "no channel of this socket allows its address (field allow of the channels)")
		p.limits.countRefusal(err)
		return nil, err
	}
	return p.limits.admit(p, tcp)
}

// serve takes one connection from its handshake to its end.
func (p *Publisher) serve(c *connection) {
	defer p.limits.leave(c)
	s, err := p.greet(c)
	if err != nil {
		_ = c.tcp.Close()
		if !p.limits.evicted(c) && !p.isUnbound() { // then that was reported
			p.limits.countRefusal(err)
			p.refusals.report(c.tcp.RemoteAddr(), err)
		}
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
func (p *Publisher) greet(c *connection) (*subscriber, error) {
	tcp := c.tcp
	if err := tcp.SetDeadline(time.Now().Add(p.o.HandshakeTimeout)); err != nil {
		return nil, err
	}
	h := &handshake{
		r: bufio.NewReader(tcp), audiences: p.audiences, server: p.o.serverKeys, computing: p.limits.computing, who: identity{address: c.address},
	}
	if err := h.shake(tcp); err != nil {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	if err := tcp.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	// Later than any write deadline: when the kernel ends a connection, a reader may see a plain
	// io.EOF, and a stall would pass for a leave.
	setUserTimeout(tcp, 3*p.o.StallTimeout)
	s := newSubscriber(c, h)
	if err := p.limits.shaken(c, s); err != nil {
		return nil, err
	}
	return p.add(s)
}

// revoke disconnects the subscribers of an audience that is gone, if no other admits them.
func (p *Publisher) revoke(gone *audience) {
	for _, s := range p.connected() {
		if gone.admits(s.who) && !p.audiences.admit(s.who) {
			p.limits.countRefusal(errRevoked)
			s.end(errRevoked)
		}
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
