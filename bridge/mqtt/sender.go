package mqtt

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ledge/bridge/outward"
)

// Options configure a [Sender]. Zero values take the documented defaults.
type Options struct {
	// Dial connects; it is required.
	Dial outward.Dial
	// Secrets have the credentials; they are required for an AuthMode other than none.
	Secrets outward.Secrets
	// Roots are the authorities to trust where a secret has no cacert; nil for the system's.
	Roots *x509.CertPool
	// Timeout is how long a message may take from the connecting to its acknowledgement: 10 s.
	Timeout time.Duration
	// Connections is how many may be open at once: 64. IdleTime is how long one without messages is kept: 60 s.
	Connections int
	IdleTime    time.Duration
	// Logger receives lost connections at Warn. Nil means slog.Default().
	Logger *slog.Logger
}

// Sender publishes on brokers. Send may be called from several goroutines.
type Sender struct {
	o       Options
	ctx     context.Context // of connecting
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[key]*connection
}

// New returns a Sender without connections.
func New(o Options) *Sender {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Connections <= 0 {
		o.Connections = 64
	}
	if o.IdleTime <= 0 {
		o.IdleTime = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Sender{o: o, open: map[key]*connection{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Send publishes m and returns, for the record, how.
func (s *Sender) Send(ctx context.Context, t Target, m outward.Message) (response string, err error) {
	k, a, err := resolve(t, s.o.Secrets, s.o.Roots)
	if err != nil {
		return "", &outward.Error{Err: err, Final: true}
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	c, err := s.acquire(k, a)
	if err != nil {
		return "", err
	}
	defer s.release(c)
	if err := c.publish(ctx, t, m.Body); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			s.drop(c) // else the messages that it does not acknowledge would add up
		}
		return "", err
	}
	if t.QoS == 0 {
		return "published with QoS 0", nil
	}
	return fmt.Sprintf("published with QoS %d, acknowledged", t.QoS), nil
}

// acquire returns the connection for k, which it opens if need be.
func (s *Sender) acquire(k key, a account) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the MQTT sender is closed")
	}
	c := s.open[k]
	if c != nil && !c.usable() {
		s.remove(c)
		c = nil
	}
	if c == nil {
		if err := s.makeRoom(); err != nil {
			return nil, err
		}
		c = s.connect(k, a, k.client)
		s.open[k] = c
	}
	c.uses++
	if c.timer != nil {
		c.timer.Stop()
	}
	return c, nil
}

// makeRoom closes a connection without messages where there are too many.
func (s *Sender) makeRoom() error {
	if len(s.open) < s.o.Connections {
		return nil
	}
	for _, c := range s.open {
		if c.uses == 0 {
			s.remove(c)
			return nil
		}
	}
	return fmt.Errorf("%d connections to brokers are in use, which is the limit; try again", s.o.Connections)
}

// release gives back what acquire got.
func (s *Sender) release(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.uses--; c.uses > 0 || s.open[c.key] != c {
		return
	}
	c.timer = time.AfterFunc(s.o.IdleTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.uses == 0 {
			s.remove(c)
		}
	})
}

// drop takes a connection out of use; who waits on it learns of that.
func (s *Sender) drop(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c)
}

// remove is drop with the lock held.
func (s *Sender) remove(c *connection) {
	if s.open[c.key] == c {
		delete(s.open, c.key)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.once.Do(func() {
		close(c.lost)
		s.running.Go(func() { c.client.Disconnect(uint(quiesce.Milliseconds())) })
	})
}

// Close closes all connections; what is under way fails.
func (s *Sender) Close() {
	s.mu.Lock()
	s.closed = true
	for _, c := range s.open {
		s.remove(c)
	}
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
}
