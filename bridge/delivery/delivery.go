package delivery

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ledge/bridge/recorder"
	"ledge/bridge/turns"
	"ledge/domain"
)

// Log is the notification stream: what is followed, and where tries are recorded.
type Log interface {
	recorder.Log
	Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error
}

// Sender delivers on the channels of one type. The response is what the receiver said. An error may say more by the methods
// of an outward.Error.
type Sender interface {
	Send(ctx context.Context, t domain.Transmission, n domain.Notification) (response string, err error)
}

// SenderFunc is a function as a Sender.
type SenderFunc func(ctx context.Context, t domain.Transmission, n domain.Notification) (response string, err error)

// Send implements Sender.
func (f SenderFunc) Send(ctx context.Context, t domain.Transmission, n domain.Notification) (response string, err error) {
	return f(ctx, t, n)
}

// Transmissions lists those of a look that a filter keeps, newest first.
type Transmissions interface {
	Transmissions(domain.Page, ...domain.Filter) (list []domain.Transmission, total int, err error)
}

// Look is a consistent look at the notifications; done lets go of it.
type Look func() (state domain.State, lists Transmissions, done func())

// DefaultConcurrency is the default of Limits.Concurrency.
const DefaultConcurrency = 128

// Limits bound concurrent sends and their times. Zero means the default.
type Limits struct {
	// AtOnce is the largest number of concurrent sends to one server: 16; see window. Concurrency is the largest number of concurrent sends
	// to all servers that are not slow: DefaultConcurrency; see package turns for the others.
	AtOnce, Concurrency int
	// Queue is how many transmissions to one target are in memory: 10,000. The others stay on record until there is room.
	Queue int
	// Timeout is for one try: 10 s.
	Timeout time.Duration
	// LongestWait bounds the growing time between two tries of a transmission: 10 minutes. LongestPause bounds the time between two probes
	// of an endpoint that fails: 5 s.
	LongestWait, LongestPause time.Duration
	// GiveUp is the age at which a transmission is given up: 24 hours.
	GiveUp time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		AtOnce: cmp.Or(l.AtOnce, 16), Concurrency: cmp.Or(l.Concurrency, DefaultConcurrency), Queue: cmp.Or(l.Queue, 10_000),
		Timeout: cmp.Or(l.Timeout, 10*time.Second), LongestWait: cmp.Or(l.LongestWait, 10*time.Minute), LongestPause: cmp.Or(l.LongestPause, 5*time.Second),
		GiveUp: cmp.Or(l.GiveUp, 24*time.Hour),
	}
}

// Options wires a Delivery.
type Options struct {
	Limits
	Log     Log
	Look    Look
	Senders map[string]Sender // by the type of channel
	// Escalation returns the subscription that is told of critical notifications that did not arrive, if there is one.
	Escalation func() (domain.Subscription, bool)
	Now        func() time.Time
	Logger     *slog.Logger
}

// Delivery is the running delivery.
type Delivery struct {
	Options
	recorder *recorder.Recorder
	turns    *turns.Turns // of the sends under way

	mu       sync.Mutex // guards what follows
	servers  map[string]*server
	targets  map[string]*target
	starting bool // workers do not begin yet

	ctx     context.Context // of the work between Start and Close
	stop    context.CancelFunc
	done    sync.WaitGroup // the followers and workers
	sending sync.WaitGroup
	failed  chan error
}

// New returns a Delivery that waits for Start.
func New(o Options) *Delivery {
	o.Limits = o.withDefaults()
	d := &Delivery{
		Options: o, servers: map[string]*server{}, targets: map[string]*target{}, failed: make(chan error, 1), turns: turns.New(o.Concurrency),
	}
	d.recorder = recorder.New(o.Log, o.Logger, d.unrecorded)
	return d
}

// Start takes up what is open and follows the stream from the sequence after at, the checkpoint of the notifications. ctx
// bounds the start alone.
func (d *Delivery) Start(ctx context.Context, at uint64) error {
	d.ctx, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.takeUp(); err != nil {
		d.Close()
		return fmt.Errorf("list open transmissions: %w", err)
	}
	d.run(func() error { return d.recorder.Run(d.ctx) })
	d.run(func() error { return d.Log.Follow(d.ctx, at+1, d.follow) })
	return nil
}

// follow takes one group of the stream.
func (d *Delivery) follow(group []domain.Recorded) error {
	for _, r := range group {
		switch e := r.Event.(type) {
		case domain.NotificationsRaised:
			for _, raised := range e.Raised {
				d.queueAll(raised.Transmissions)
			}
		case domain.NotificationProcessed:
			d.queueAll(e.Transmissions)
		case domain.TransmissionTried:
			d.update(e.Transmission)
			if e.Escalated != nil {
				d.queueAll(e.Escalated.Transmissions)
			}
		}
	}
	return nil
}

func (d *Delivery) queueAll(ts []domain.Transmission) {
	for _, t := range ts {
		d.queue(t)
	}
}

// Refused is how many outcomes of tries the log has refused for good since the start.
func (d *Delivery) Refused() int64 { return d.recorder.Refused() }

// Failed yields the error that ended the delivery, if one does.
func (d *Delivery) Failed() <-chan error { return d.failed }

func (d *Delivery) run(f func() error) {
	d.done.Go(func() {
		if err := f(); err != nil && d.ctx.Err() == nil {
			select {
			case d.failed <- err:
			default:
			}
			d.stop()
		}
	})
}

// lastSends is how long Close waits for the sends under way.
const lastSends = time.Second

// Close ends the sends under way after a moment, and records what became of them. What is open is taken up by the next
// start.
func (d *Delivery) Close() {
	if d.stop == nil {
		return
	}
	d.mu.Lock()
	d.stop() // no worker starts any more
	d.mu.Unlock()
	d.done.Wait()
	d.sending.Wait()
	d.recorder.Close(context.WithoutCancel(d.ctx))
}
