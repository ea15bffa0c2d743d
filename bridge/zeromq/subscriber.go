package zeromq

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errStalled = errors.New("took no data within the stall timeout")
	errLinger  = errors.New("publisher closed before everything was sent")
	errZMQ4    = errors.New("closed by zmq4")
)

// subscriber is one peer that has completed its handshake: the sink that zmq4 writes to, a
// goroutine that reads subscriptions and one that writes messages.
type subscriber struct {
	pub     *Publisher
	counted *connection
	tcp     *net.TCPConn
	remote  string
	who     identity
	curve   *session // nil without CURVE
	frames  *frameReader
	subs    *subscriptions
	queue   *queue
	conn    *conn
	joined  atomic.Bool
	late    atomic.Bool // it did not make room in time for what is paced
	drops   atomic.Uint64
	pings   atomic.Uint64
	since   atomic.Int64 // when what is being sent now began, see elapsed; 0 while nothing is

	endOnce sync.Once
	ended   chan struct{} // closed by end
	reason  error
	lost    int // messages queued but not written
}

func newSubscriber(c *connection, h *handshake) *subscriber {
	p, tcp := c.socket, c.tcp
	s := &subscriber{
		pub:     p,
		counted: c,
		tcp:     tcp,
		remote:  tcp.RemoteAddr().String(),
		who:     h.who,
		curve:   h.session,
		subs:    newSubscriptions(p.o),
		queue:   newQueue(p.o, p.limits.room),
		ended:   make(chan struct{}),
	}
	copies := 1
	if s.curve != nil {
		copies = 2 // it is decrypted into another buffer
	}
	s.frames = &frameReader{r: h.r, max: p.o.MaxFrame, hold: func(n int) error { return p.limits.changeTopics(c, 0, copies*n) }}
	s.conn = newConn(s, tcp.LocalAddr(), tcp.RemoteAddr(), func(*conn) { s.end(errZMQ4) })
	return s
}

func (s *subscriber) wants(audience uint64, topic []byte) bool {
	if !s.subs.match(topic) || !s.pub.audiences.admits(audience, s.who) {
		return false
	}
	if s.pub.hurry.Load() {
		s.drop(1)
		return false
	}
	return true
}

func (s *subscriber) message(m message) {
	if m.head != nil && m.frames == 2 && !s.queue.push(m.head, m.body) {
		s.drop(1)
	}
}

func (s *subscriber) drop(n int) {
	s.drops.Add(uint64(n))
	s.pub.drop(n)
}

// read handles what the peer sends until the connection ends.
func (s *subscriber) read() error {
	pace := newPace(s.pub.o)
	inMessage := false // within a message of several frames, which a PUB socket ignores
	for {
		f, err := s.frames.next()
		if err != nil {
			return err
		}
		pace.frame(len(f.body), s.ended)
		if s.curve != nil {
			if f, err = s.curve.open(f); err != nil {
				return err
			}
		}
		switch {
		case f.command:
			err = s.command(f.body)
		case !inMessage && !f.more && len(f.body) > 0:
			err = s.subscription(f.body[0], string(f.body[1:]))
		}
		if err != nil {
			return err
		}
		if !f.command {
			inMessage = f.more
		}
	}
}

func (s *subscriber) command(body []byte) error {
	name, data, err := parseCommand(body)
	if err != nil {
		return err
	}
	switch name {
	case "PING":
		answer, err := pong(data)
		if err != nil {
			return err
		}
		s.pings.Add(1)
		s.queue.answer(answer)
	case "SUBSCRIBE":
		return s.subscription(1, string(data))
	case "CANCEL":
		return s.subscription(0, string(data))
	}
	return nil
}

func (s *subscriber) subscription(op byte, topic string) error {
	switch op {
	case 1:
		first, err := s.subs.add(topic)
		if first {
			if err = s.pub.limits.changeTopics(s.counted, 1, costOf(topic)); err != nil {
				return err
			}
			s.pub.subscribed.ring()
			s.pub.o.Logger.Debug("topic subscribed", "remote", s.remote, "port", s.pub.port, "topic", topic)
		}
		return err
	case 0:
		if s.subs.remove(topic) {
			_ = s.pub.limits.changeTopics(s.counted, -1, -costOf(topic)) // only more can be refused
			s.pub.o.Logger.Debug("topic unsubscribed", "remote", s.remote, "port", s.pub.port, "topic", topic)
		}
	}
	return nil
}

// write sends what is queued until the queue is closed, or finished and empty. Then it tells the
// peer that no more will come, whereupon a peer that has read everything closes its end.
func (s *subscriber) write() {
	for b := s.queue.take(); b != nil; b = s.queue.take() {
		if err := s.send(b); err != nil {
			s.end(err)
			return
		}
		s.queue.done(b)
	}
	_ = s.tcp.CloseWrite() // fails only if the peer is gone
}

// pieceBytes is how much a subscriber must take at least to show that it is not stalled.
const pieceBytes = 256 << 10

func (s *subscriber) send(b *block) error {
	if s.curve != nil {
		return s.sendSealed(b)
	}
	if err := s.sendBytes(b.buf); err != nil {
		return err
	}
	return s.sendBytes(b.body)
}

// sendBytes writes p, however long that takes, as long as the peer takes some of it within each
// stall timeout. A stall is thus noticed after between one and two timeouts.
func (s *subscriber) sendBytes(p []byte) error {
	defer s.since.Store(0)
	for len(p) > 0 {
		now := time.Now()
		s.since.Store(elapsed(now))
		if err := s.tcp.SetWriteDeadline(now.Add(s.pub.o.StallTimeout)); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		n, err := s.tcp.Write(p[:min(len(p), pieceBytes)])
		p = p[n:]
		if err == nil || n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// stalledBytes is the memory of the queue of a subscriber that took nothing since a time, else 0.
func (s *subscriber) stalledBytes(since time.Time) int {
	if began := s.since.Load(); began == 0 || began > elapsed(since) {
		return 0
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.held
}

// end closes the connection, at both ends of it. The first reason is the one that is reported.
func (s *subscriber) end(reason error) {
	s.endOnce.Do(func() {
		close(s.ended)
		var ne net.Error
		if errors.As(reason, &ne) && ne.Timeout() {
			reason = errStalled // a write deadline, or the kernel's TCP_USER_TIMEOUT or keep-alive
		}
		s.reason = reason
		s.lost = s.queue.close()
		s.drop(s.lost)
		if s.lost > 0 {
			_ = s.tcp.SetLinger(0) // the kernel must not go on trying either
		}
		_ = s.tcp.Close()
		s.conn.shut()
	})
}

// report logs the end of a subscriber that had joined.
func (s *subscriber) report() {
	attrs := []any{"remote", s.remote, "port", s.pub.port, "drops", s.drops.Load(), "pings", s.pings.Load()}
	switch {
	case errors.Is(s.reason, errStalled), errors.Is(s.reason, errCrowded):
		s.pub.evictions.Add(1)
		s.pub.o.Logger.Warn("subscriber evicted", append(attrs, "reason", s.reason)...)
	case errors.Is(s.reason, io.EOF):
		s.pub.o.Logger.Info("subscriber left", attrs...)
	default:
		s.pub.o.Logger.Info("subscriber left", append(attrs, "reason", s.reason)...)
	}
}
