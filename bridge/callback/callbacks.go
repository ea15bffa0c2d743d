// Package callback calls EdgeX device services back: each hears of what changes in its devices, the profiles of these, its provision
// watchers and itself, and is asked whether it takes a device before one is added or changed.
//
// [Callbacks] follows the event stream from the position that it has on record. The calls for one device service go out one after another,
// in the order of the events, and are tried again until the service has them. Package lanes decides when, so that no service waits for
// another. The position is put on record a second after a call, so that a crash repeats some calls and loses none. Paths, methods and
// bodies are those of EdgeX 2.3. "device-rest" is Ledge itself and is not called, unless another program has registered its own address
// under that name.
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
	"ledge/bridge/lanes"
	"ledge/bridge/limiter"
	"ledge/bridge/outward"
	"ledge/bridge/recorder"
	"ledge/domain"
)

// History reads the event stream from one sequence to another, both included.
type History func(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error

// DefaultConcurrency is the default of Limits.Concurrency.
const DefaultConcurrency = 64

// Limits bound the calls of device services. Zero means the default.
type Limits struct {
	// Limits are those of the calls. Concurrency, DefaultConcurrency, bounds the validations as well.
	lanes.Limits
	// ValidationTimeout is the longest wait for the validation of a device: 3 s.
	ValidationTimeout time.Duration
	// Tries is how often a call is made that the service answers with an error of its own: 5.
	Tries int
	// GiveUp is how long a call waits for a service that does not answer: 10 minutes.
	GiveUp time.Duration
	// Waiting is how many calls wait for one service: 100,000. A further call replaces the oldest.
	Waiting int
}

// idleConnections are kept for the next call.
const idleConnections = 256

// Options wires Callbacks.
type Options struct {
	Limits
	Events interface {
		Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error
	}
	Notifications recorder.Log // where the position is recorded
	History       History
	// Lists calls read with the state of this moment. nil: no program becomes device-rest while Ledge runs.
	Lists func(read func(domain.Lists) error) error
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
	client      *http.Client
	lanes       *lanes.Lanes
	validations *limiter.Limiter
	started     uint64 // the event that the addresses at the start are as of
	position    position

	mu       sync.Mutex // guards what follows
	owners   *owners
	services map[string]*service
	followed uint64               // the last event whose calls are queued
	silent   map[string]time.Time // by base address: until when a service is not asked to validate
	counts   Counts
}

// New returns Callbacks that wait for Start.
func New(o Options) *Callbacks {
	o.Tries, o.GiveUp, o.Waiting = cmp.Or(o.Tries, 5), cmp.Or(o.GiveUp, 10*time.Minute), cmp.Or(o.Waiting, 100_000)
	o.ValidationTimeout, o.Concurrency = cmp.Or(o.ValidationTimeout, 3*time.Second), cmp.Or(o.Concurrency, DefaultConcurrency)
	c := &Callbacks{
		Options: o, client: outward.Client(o.Guard.DialContext, o.Roots, idleConnections), validations: limiter.New(o.Concurrency),
		owners:   &owners{of: map[string]owner{}, users: map[string]map[string]int{}},
		services: map[string]*service{}, silent: map[string]time.Time{},
	}
	c.lanes = lanes.New(lanes.Options{Limits: o.Limits.Limits, Of: "callbacks", Open: c.open, Now: o.Now, Logger: o.Logger})
	return c
}

// Start is what the projections know when the callbacks start.
type Start struct {
	// State is that of Events, the checkpoint of the event stream.
	State  domain.View
	Events uint64
	// Cursors are those of the notification stream. Forgotten says that retention has removed its beginning: without a
	// position on record what is older than the start is then not told again.
	Cursors   domain.Table[uint64]
	Forgotten bool
}

// Start goes on where the position on record says.
func (c *Callbacks) Start(at Start) error {
	if err := c.load(at); err != nil {
		return fmt.Errorf("list device services: %w", err)
	}
	c.lanes.Start()
	c.lanes.Run(c.recordLater)
	c.lanes.Run(func(ctx context.Context) error {
		if err := c.owners.rewind(ctx, c.History, c.followed, c.started); err != nil {
			return fmt.Errorf("find the owners of devices as of event %d: %w", c.followed, err)
		}
		return c.Events.Follow(ctx, c.followed+1, c.onEvents)
	})
	return nil
}

// load takes the services, the owners of devices, and the position.
func (c *Callbacks) load(at Start) error {
	all, _, err := at.State.Lists.Services(domain.Page{Limit: -1})
	if err != nil {
		return err
	}
	upTo, _ := at.Cursors.Get(domain.CursorCallbacks)
	if upTo == 0 && at.Forgotten {
		upTo = at.Events
	}
	c.started, c.followed, c.position.upTo, c.position.behind = at.Events, upTo, upTo, map[string]uint64{}
	for _, d := range all {
		if d.IsBuiltIn(c.Guard.IsOwnURL) {
			continue
		}
		if d.Name == domain.DeviceREST {
			c.owners.elsewhere.Store(true)
			logElsewhere(c.Logger, d)
		}
		s := newService(d)
		s.had = upTo
		if seq, ok := at.Cursors.Get(domain.CursorCallbacksOf(d.Name)); ok {
			s.had, c.position.behind[d.Name] = seq, seq
			c.followed = min(c.followed, seq)
		}
		c.services[d.Name] = s
		if err := c.owners.load(at.State.Lists, d.Name); err != nil {
			return err
		}
	}
	return nil
}

// onEvents queues the calls of one group of the event stream.
func (c *Callbacks) onEvents(group []domain.Recorded) error {
	for _, r := range group {
		if r.Seq > c.started {
			if err := switchREST(c, r.Event); err != nil {
				return err
			}
		}
		c.mu.Lock()
		for _, name := range c.owners.step(r.Event) {
			c.queue(name, r.Seq)
		}
		if r.Seq > c.started {
			c.know(r.Event)
		}
		c.followed = r.Seq
		c.mu.Unlock()
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
			s.removed = true
			clear(s.last)
			c.forget(s)
		}
	}
}

// address notes where a service is called, and has what waits for it tried there; c.mu is held.
func (c *Callbacks) address(d domain.DeviceService) {
	s := c.services[d.Name]
	if s == nil {
		s = newService(d)
		c.services[d.Name] = s
	}
	s.removed = false
	if s.base != d.BaseAddress {
		s.base = d.BaseAddress
		c.lanes.TryNow(d.Name, "")
	}
}

// forget lets go of a service that was removed, once nothing waits for it; c.mu is held.
func (c *Callbacks) forget(s *service) {
	if s.removed && len(s.waiting) == 0 {
		delete(c.services, s.name)
	}
}

// Failed yields the error that ended the callbacks, if one does.
func (c *Callbacks) Failed() <-chan error { return c.lanes.Failed() }

// Close stops calling and records what was made. What was not is done at the next start.
func (c *Callbacks) Close() {
	c.lanes.Close()
	c.client.CloseIdleConnections()
	c.record(context.Background(), true)
}
