package bridge

import (
	"context"
	"sync"
	"time"

	"ledge/domain"
)

// linger is how long a record may wait for company: each costs an fsync that the requests of that moment would feel, and
// nobody waits for one. The event that it follows from is durable already.
const linger = 10 * time.Millisecond

// raised are the notifications that wait to be recorded, in the order of their causes.
type raised struct {
	mu    sync.Mutex // held while they are recorded, so that the order holds
	due   []delivery
	timer *time.Timer
	last  uint64 // cause of the last one that is on record
}

// onEvents takes one group of the event stream: it raises a notification for each device change and delivers it at once.
// The record follows. A crash before it repeats the delivery, because the cursor has not moved.
func (e *Engine) onEvents(group []domain.Recorded) error {
	e.raised.mu.Lock()
	defer e.raised.mu.Unlock()
	for _, r := range group {
		e.fold(r)
		n, ok := Raise(r)
		if !ok {
			continue
		}
		d := e.route(n, r.CorrelationID)
		if len(d.targets) == 0 {
			d.notification.Status = domain.StatusProcessed // nobody to tell: this is its outcome
		} else {
			d.outcome = e.deliver(d)
		}
		e.raised.due = append(e.raised.due, d)
	}
	switch {
	case len(e.raised.due) == 0:
		return nil
	case len(e.raised.due) >= outcomesWaiting:
		return e.recordRaised()
	case e.raised.timer == nil:
		e.raised.timer = time.AfterFunc(linger, e.recordLater)
	}
	return nil
}

// recordLater ends the wait for company.
func (e *Engine) recordLater() {
	e.raised.mu.Lock()
	defer e.raised.mu.Unlock()
	e.raised.timer = nil
	if e.ctx.Err() != nil {
		return // Close records it
	}
	if err := e.recordRaised(); err != nil {
		e.fail(err)
	}
}

// recordRaised records what waits, in order, and then the outcomes; e.raised.mu is held. What the log refuses for now is
// tried again, with back-off, until Close.
func (e *Engine) recordRaised() error {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		before := len(e.raised.due)
		err := e.tryRaised(e.ctx)
		switch left := len(e.raised.due); {
		case left == 0:
			return nil
		case !forNow(err) && left < before:
			continue // one was refused for good and is out of the way
		case !forNow(err):
			return err
		}
		if err := e.pause(wait, len(e.raised.due), err); err != nil {
			return err
		}
	}
}

// tryRaised submits what waits and takes away what has its outcome, up to the first that is refused for now. What is
// refused for good is logged: nothing that follows may wait for it.
func (e *Engine) tryRaised(ctx context.Context) error {
	due := e.raised.due
	reqs := make([]domain.Request, len(due))
	after := e.raised.last
	for i, d := range due {
		reqs[i] = domain.Request{Stamp: e.stamp(d.correlation), Command: domain.AddNotification{Notification: d.notification, After: after}}
		after = d.notification.Cause
	}
	outcomes, err := e.Notifications.Submit(ctx, reqs...)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.Err != nil && forNow(o.Err) {
			return o.Err
		}
		e.raised.due = due[i+1:]
		if o.Err != nil {
			e.Logger.Error("notification refused", "cause", due[i].notification.Cause, "error", o.Err)
			return o.Err // those after it were refused because of it: once more, without it
		}
		e.raised.last = due[i].notification.Cause
		if len(due[i].targets) > 0 {
			e.handOver(due[i].outcome)
		}
	}
	return nil
}
