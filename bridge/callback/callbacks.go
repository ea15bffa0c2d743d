package callback

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"ledge/bridge/guard"
	"ledge/bridge/turns"
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

// Limits bound what is done for device services, by the program's settings.
type Limits struct {
	// Timeout is the longest wait for the answer to a callback (setting callback-timeout), ValidationTimeout for the
	// answer to whether a device is fine (setting callback-validation-timeout).
	Timeout, ValidationTimeout time.Duration
	// Tries is how often a call is made that the service answers with an error of its own (setting callback-tries).
	Tries int
	// GiveUp is how long a call waits for a service that does not answer (setting callback-give-up).
	GiveUp time.Duration
	// Waiting is how many calls wait for one service (setting callback-queue); the oldest make room.
	Waiting int
	// AtOnce is how many calls are under way at a time to services that are not slow, and how many validations; see package turns
	// for the others (setting callback-concurrency).
	AtOnce int
	// AnswerBytes is how much of an answer is read (setting callback-answer-bytes).
	AnswerBytes int64
	// Last is how long Close waits for the calls under way.
	Last time.Duration
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
	calls    *turns.Turns    // of the calls that are under way
	asks     *turns.Turns    // of the validations that are under way
	started  uint64          // the event that the addresses at the start are as of
	ctx      context.Context // of the work between Start and Close
	stop     context.CancelFunc
	calling  context.Context // of the calls under way, which may end after Close has begun
	hangUp   context.CancelFunc
	done     sync.WaitGroup
	failed   chan error
	position position

	mu       sync.Mutex // guards what follows
	owners   *owners
	services map[string]*service
	followed uint64 // the last event whose calls are queued
	silent   map[string]time.Time
}

// New returns Callbacks that wait for Start.
func New(o Options) *Callbacks {
	return &Callbacks{
		Options: o, client: newClient(o.Guard.DialContext, o.Roots), calls: turns.New(o.AtOnce), asks: turns.New(o.AtOnce),
		failed: make(chan error, 1), owners: newOwners(), services: map[string]*service{}, silent: map[string]time.Time{},
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
