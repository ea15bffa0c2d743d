package bridge

import (
	"fmt"
	"sync"
	"time"

	"ledge/domain"
)

// linger is how long a record that nobody waits for may wait for company: notifications that no subscription wants, and
// outcomes. Each record costs an fsync that the requests of that moment would feel.
const linger = 10 * time.Millisecond

// raised are the notifications that wait to be recorded, in the order of their causes.
type raised struct {
	mu    sync.Mutex // held while they are recorded, so that the order holds
	due   []delivery
	timer *time.Timer
}

// onEvents takes one group of the event stream: it raises a notification for each device change. One that somebody is
// to be told is recorded and delivered at once, after those before it; others wait for company.
func (e *Engine) onEvents(group []domain.Recorded) error {
	e.raised.mu.Lock()
	defer e.raised.mu.Unlock()
	urgent := false
	for _, r := range group {
		e.fold(r)
		n, ok := Raise(r)
		if !ok {
			continue
		}
		d := e.route(n, r.CorrelationID)
		if len(d.targets) == 0 {
			d.notification.Status = domain.StatusProcessed // nobody to tell: this is its outcome
		}
		urgent = urgent || len(d.targets) > 0
		e.raised.due = append(e.raised.due, d)
	}
	switch {
	case len(e.raised.due) == 0:
		return nil
	case urgent || len(e.raised.due) >= outcomesWaiting:
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

// recordRaised records what waits and then delivers it; e.raised.mu is held.
func (e *Engine) recordRaised() error {
	due := e.raised.due
	e.raised.due = nil
	reqs := make([]domain.Request, len(due))
	for i, d := range due {
		reqs[i] = domain.Request{Stamp: e.stamp(d.correlation), Command: domain.AddNotification{Notification: d.notification}}
	}
	if len(reqs) == 0 {
		return nil
	}
	outcomes, err := e.record(reqs)
	if err != nil {
		return fmt.Errorf("record notifications: %w", err)
	}
	for i, o := range outcomes {
		if o.Event != nil && len(due[i].targets) > 0 { // nil: on record from before a restart, and delivered as pending
			e.deliver(due[i])
		}
	}
	return nil
}
