package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/recorder"
	"ledge/domain"
)

// Options wires an Engine.
type Options struct {
	Events, Notifications recorder.Stream
	// History reads the events of subscriptions from one sequence of the event stream to another, both included, with whole entities.
	History func(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error
	// Recorded is the last sequence of the event stream that requests were answered with.
	Recorded func() uint64
	// Noted is the same of the notification stream; without it, Flush does not wait for what was posted.
	Noted func() uint64
	// Pending returns the posted notifications without an outcome, the oldest first.
	Pending func() ([]domain.Notification, error)
	Sockets Sockets
	// LookUp looks up the address of a host where a socket is to be bound, so that the next Acquire knows it; nil: Acquire does that itself.
	LookUp func(ctx context.Context, host string, port int)
	Resend Resend
	Now    func() time.Time
	Logger *slog.Logger
}

// Engine is the running bridge.
type Engine struct {
	Options
	channels *channels

	started uint64 // the sequence of the event stream whose sockets were bound at the start

	mu       sync.Mutex // guards what follows
	moved    *sync.Cond // settled or noted has moved, or the engine ends
	routes   *routes
	settled  uint64 // last sequence of the event stream that is in routes, with its sockets moved
	noted    uint64 // last sequence of the notification stream whose posted notifications are delivered
	reserved []reservation
	promised int // channels of reservations

	raised   raised
	posting  recorder.Tally     // of posted notifications, until all their outcomes are handed over to outcomes
	outcomes *recorder.Recorder // of posted notifications
	ctx      context.Context    // of the work between Start and Close
	stop     context.CancelFunc
	done     sync.WaitGroup
	failed   chan error
}

// New returns an Engine that waits for Start.
func New(o Options) *Engine {
	e := &Engine{
		Options: o, channels: newChannels(o), routes: newRoutes(),
		outcomes: recorder.New(o.Notifications, o.Logger, func(domain.Request) {}), failed: make(chan error, 1),
	}
	e.moved = sync.NewCond(&e.mu)
	e.raised = newRaised()
	return e
}

// Start binds the sockets of all subscriptions, delivers what a crash left without an outcome, and follows both
// streams until Close. A socket that cannot be bound is logged and tried again, not an error: the other subscriptions
// matter too. ctx bounds the start alone.
func (e *Engine) Start(ctx context.Context, at Start) (err error) {
	e.ctx, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			e.stop()
			e.channels.tries.Wait()
		}
	}()
	e.channels.ctx = e.ctx
	for _, s := range at.Subscriptions {
		e.routes.put(s)
		e.channels.hold(s.Channels)
	}
	e.started = at.Events
	pending, err := e.Pending()
	if err != nil {
		return fmt.Errorf("list pending notifications: %w", err)
	}
	to := make([][]domain.Subscription, len(pending))
	for i, n := range pending {
		to[i] = e.routes.wanting(n)
	}
	if err := e.rewind(ctx, at); err != nil {
		return fmt.Errorf("find the subscriptions of event %d: %w", at.Cursor, err)
	}
	e.noted = at.Notifications
	e.settled, e.raised.last, e.raised.handed = min(at.Cursor, at.Events), at.Cursor, at.Cursor
	e.run(func() error { return e.outcomes.Run(e.ctx) })
	e.run(e.recordLater)
	e.run(func() error { return e.Events.Follow(e.ctx, at.Cursor+1, e.onEvents) })
	e.run(func() error {
		for i, n := range pending {
			e.deliverPosted(n, to[i], origin{})
		}
		return e.Notifications.Follow(e.ctx, at.Notifications+1, e.onNotifications)
	})
	return nil
}

// rewind takes routes back from the sequence at.Events to at.Cursor, so that every device change after it meets the
// subscriptions of its own time.
func (e *Engine) rewind(ctx context.Context, at Start) error {
	if at.Cursor >= at.Events {
		return nil
	}
	var since []domain.Event
	err := e.History(ctx, at.Cursor+1, at.Events, func(r domain.Recorded) error {
		switch r.Event.(type) {
		case domain.SubscriptionAdded, domain.SubscriptionUpdated, domain.SubscriptionRemoved:
			since = append(since, r.Event)
		}
		return nil
	})
	for i := len(since) - 1; i >= 0; i-- {
		e.routes.undo(since[i])
	}
	return err
}

// Failed yields the error that ended the bridge, if one does.
func (e *Engine) Failed() <-chan error { return e.failed }

// Refused is how many notifications, or deliveries to a subscription, the log has refused for good since the start.
func (e *Engine) Refused() int64 { return e.raised.refused.Load() + e.outcomes.Refused() }

// Close stops following and records what waits. What could not be recorded is done again at the next start.
func (e *Engine) Close() {
	if e.stop == nil {
		return
	}
	e.stop()
	e.wake()
	e.done.Wait()
	e.channels.tries.Wait()
	for len(e.raised.waiting) > 0 {
		e.raised.due = append(e.raised.due, <-e.raised.waiting)
	}
	ctx := context.WithoutCancel(e.ctx)
	for len(e.raised.due) > 0 {
		if err := e.tryRaised(ctx); err != nil {
			e.Logger.Warn("notifications not recorded, raised again at the next start", "count", len(e.raised.due), "error", err)
			break
		}
	}
	e.outcomes.Close(ctx)
}

func (e *Engine) run(f func() error) {
	e.done.Go(func() {
		if err := f(); err != nil && e.ctx.Err() == nil {
			e.fail(err)
		}
	})
}

// fail ends the engine because of err.
func (e *Engine) fail(err error) {
	select {
	case e.failed <- err:
	default:
	}
	e.stop()
	e.wake()
}

// Send implements the sender of bridge/delivery for ZeroMQ channels, for what could not be published at once.
func (e *Engine) Send(_ context.Context, t domain.Transmission, n domain.Notification) (response string, err error) {
	return e.channels.send(t.Channel, n)
}

// Subscription returns a subscription as of the last event that the bridge has followed.
func (e *Engine) Subscription(name string) (domain.Subscription, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.routes.byName[name]
	return s, ok
}

// wake has those who wait for followed look again.
func (e *Engine) wake() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.moved.Broadcast()
}

// stamp is the Stamp of what the bridge does by itself, as a consequence of cause.
func (e *Engine) stamp(correlation string) domain.Stamp {
	return domain.Stamp{
		EventID: uuid.Must(uuid.NewV7()).String(), At: e.Now(), Actor: "ledge", Origin: "bridge", CorrelationID: correlation,
	}
}
