package delivery

import (
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

// Limits bound what is done at once and how long.
type Limits struct {
	// AtOnce is how many sends to one endpoint are under way: one while nothing is known of it, and after one that failed.
	// Concurrency is how many are under way to all endpoints that are not slow; see package turns for the others.
	AtOnce, Concurrency int
	// Queue is how many transmissions of one endpoint are known in memory; the others stay on record until there is room.
	Queue int
	// Timeout is for one try.
	Timeout time.Duration
	// LongestWait bounds the time between two tries of a transmission, and LongestPause the time that an endpoint is left
	// alone.
	LongestWait, LongestPause time.Duration
	// GiveUp is the age at which a transmission is given up.
	GiveUp time.Duration
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

	mu        sync.Mutex
	endpoints map[string]*endpoint

	ctx     context.Context // of the work between Start and Close
	stop    context.CancelFunc
	done    sync.WaitGroup // the followers and endpoints
	sending sync.WaitGroup
	failed  chan error
}

// New returns a Delivery that waits for Start.
func New(o Options) *Delivery {
	d := &Delivery{
		Options: o, endpoints: map[string]*endpoint{}, failed: make(chan error, 1), turns: turns.New(o.Concurrency),
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

// takeUp queues all that is open. Pages are of one status, so that each is a short walk of an index.
func (d *Delivery) takeUp() error {
	return d.pages(domain.Filter{Index: domain.IndexStatus, Value: domain.StatusResending}, func(t domain.Transmission) bool {
		d.queue(t)
		return d.ctx.Err() == nil
	})
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
			d.settle(e.Transmission)
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
