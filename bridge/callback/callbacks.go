package callback

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"ledge/bridge/guard"
	"ledge/bridge/limiter"
	"ledge/domain"
)

// Followed is the event stream.
type Followed interface {
	Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error
}

// Log is the notification stream, where the position is recorded.
type Log interface {
	Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error)
}

// History reads the event stream from one sequence to another, both included.
type History func(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error

// DefaultAtOnce is the default of Limits.AtOnce.
const DefaultAtOnce = 64

// Limits bound the calls of device services. Zero means the default.
type Limits struct {
	// Timeout is the longest wait for the answer to a callback: 10 s. ValidationTimeout is the longest wait for the validation of a
	// device: 3 s.
	Timeout, ValidationTimeout time.Duration
	// Tries is how often a call is made that the service answers with an error of its own: 5.
	Tries int
	// GiveUp is how long a call waits for a service that does not answer: 10 minutes.
	GiveUp time.Duration
	// Waiting is how many calls wait for one service: 100,000. A further call replaces the oldest.
	Waiting int
	// AtOnce is the largest number of concurrent calls to services that are not slow, and of concurrent validations: DefaultAtOnce.
	// See package limiter for the others.
	AtOnce int
	// AnswerBytes is how much of an answer is read: 64 KiB.
	AnswerBytes int64
	// Last is how long Close waits for the calls under way: 1 s.
	Last time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Timeout: cmp.Or(l.Timeout, 10*time.Second), ValidationTimeout: cmp.Or(l.ValidationTimeout, 3*time.Second), Tries: cmp.Or(l.Tries, 5),
		GiveUp: cmp.Or(l.GiveUp, 10*time.Minute), Waiting: cmp.Or(l.Waiting, 100_000), AtOnce: cmp.Or(l.AtOnce, DefaultAtOnce),
		AnswerBytes: cmp.Or(l.AnswerBytes, 64<<10), Last: cmp.Or(l.Last, time.Second),
	}
}

// Options wires Callbacks.
type Options struct {
	Limits
	Events        Followed
	Notifications Log
	History       History
	// Guard says where services may be called, and whose answers are shown.
	Guard *guard.Guard
	// Roots are the authorities to trust; nil for the system's.
	Roots *x509.CertPool
	// Self is this instance's id, for the header that ends loops.
	Self   string
	Now    func() time.Time
	Logger *slog.Logger
}

// Callbacks calls device services back.
type Callbacks struct {
	Options
	client   *http.Client
	calls    *limiter.Limiter // of the calls that are under way
	asks     *limiter.Limiter // of the validations that are under way
	started  uint64           // the event that the addresses at the start are as of
	ctx      context.Context  // of the work between Start and Close
	stop     context.CancelFunc
	calling  context.Context // of the calls under way, which may end after Close has begun
	hangUp   context.CancelFunc
	done     sync.WaitGroup
	failed   chan error
	position position
	counts   counts

	mu       sync.Mutex // guards what follows
	owners   *owners
	services map[string]*service
	followed uint64 // the last event whose calls are queued
	silent   map[string]time.Time
	last     lastCalls
}

// New returns Callbacks that wait for Start.
func New(o Options) *Callbacks {
	o.Limits = o.withDefaults()
	return &Callbacks{
		Options: o, client: newClient(o.Guard.DialContext, o.Roots), calls: limiter.New(o.AtOnce), asks: limiter.New(o.AtOnce),
		failed: make(chan error, 1), owners: newOwners(), services: map[string]*service{}, silent: map[string]time.Time{}, last: lastCalls{},
	}
}

// Start goes on where the position on record says. ctx bounds the start alone.
func (c *Callbacks) Start(ctx context.Context, at Start) error {
	if err := c.load(at); err != nil {
		return fmt.Errorf("list device services: %w", err)
	}
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.calling, c.hangUp = context.WithCancel(context.WithoutCancel(ctx))
	c.run(func() error {
		if err := c.owners.rewind(c.ctx, c.History, c.followed, c.started); err != nil {
			return fmt.Errorf("find whose devices were whose at event %d: %w", c.followed, err)
		}
		return c.Events.Follow(c.ctx, c.followed+1, c.onEvents)
	})
	return nil
}

// onEvents queues the calls of one group of the event stream.
func (c *Callbacks) onEvents(group []domain.Recorded) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range group {
		for _, name := range c.owners.step(r.Event) {
			c.queue(name, r.Seq)
		}
		if r.Seq > c.started {
			c.know(r.Event)
		}
		c.followed = r.Seq
	}
	if c.position.moved || c.followed >= c.position.upTo+recordEvery {
		c.recordSoon()
	}
	return nil
}

// know folds the addresses of the services; c.mu is held.
func (c *Callbacks) know(e domain.Event) {
	switch e := e.(type) {
	case domain.ServiceAdded:
		c.address(e.Service)
	case domain.ServiceUpdated:
		c.address(e.Service)
	case domain.ServiceRemoved:
		if s := c.services[e.Service.Name]; s != nil {
			s.gone = true
			c.last.forget(e.Service.Name)
			c.forget(s)
		}
	}
}

// address notes where a service is called, and has what waits for it tried there; c.mu is held.
func (c *Callbacks) address(d domain.DeviceService) {
	s := c.services[d.Name]
	if s == nil {
		s = newService(d.Name)
		c.services[d.Name] = s
	}
	s.gone = false
	if s.base != d.BaseAddress {
		s.base = d.BaseAddress
		s.tryNow()
	}
}

// forget lets go of a service that was removed, once nothing waits for it; c.mu is held.
func (c *Callbacks) forget(s *service) {
	if s.gone && len(s.waiting) == 0 {
		delete(c.services, s.name)
	}
}

// Failed yields the error that ended the callbacks, if one does.
func (c *Callbacks) Failed() <-chan error { return c.failed }

func (c *Callbacks) run(f func() error) {
	c.done.Go(func() {
		if err := f(); err != nil && c.ctx.Err() == nil {
			select {
			case c.failed <- err:
			default:
			}
			c.stop()
		}
	})
}

// Close stops calling and records what was made. What was not is done at the next start.
func (c *Callbacks) Close() {
	if c.stop == nil {
		return
	}
	c.stop()
	hangUp := time.AfterFunc(c.Last, c.hangUp)
	c.done.Wait()
	hangUp.Stop()
	c.hangUp()
	c.client.CloseIdleConnections()
	c.record(context.WithoutCancel(c.ctx), true)
}
