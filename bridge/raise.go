package bridge

import (
	"context"
	"sync/atomic"

	"ledge/bridge/recorder"
	"ledge/domain"
)

const (
	// raisedTogether is the most notifications that one event records, and raisedBytes about the most bytes of them.
	raisedTogether = 256
	raisedBytes    = 512 << 10
	// raisedWaiting is how many may wait while some are recorded; then the next delivery waits.
	raisedWaiting = 1024
)

// raised are the notifications that wait to be recorded, in the order of their causes. Deliveries go on meanwhile.
type raised struct {
	waiting chan domain.Raised
	tally   recorder.Tally // of those that are delivered and then recorded
	told    atomic.Int64   // of those that wait, how many somebody was told: a crash would repeat them

	// Of the goroutine that records, and then of Close.
	due    []domain.Raised // taken from waiting
	last   uint64          // cause of the last one that is on record
	single bool            // one of those that are due is refused for good: each is recorded by itself, to find it
}

// onEvents takes one group of the event stream: it raises a notification for each device change and delivers it at once.
// The record follows. A crash before it repeats the delivery, because the cursor has not moved; so does a stop that finds
// no room for one to wait.
func (e *Engine) onEvents(group []domain.Recorded) error {
	for _, r := range group {
		e.fold(r)
		n, ok := Raise(r)
		if !ok {
			continue
		}
		e.raised.tally.Begin()
		n, targets := e.route(n)
		ts := e.deliver(n, targets, r.CorrelationID)
		if err := e.raised.add(e.ctx, domain.Raised{Notification: n.Route(ts), Transmissions: ts, CorrelationID: r.CorrelationID}); err != nil {
			return err
		}
	}
	return nil
}

// add waits for room; its error says that ctx ended before there was any.
func (r *raised) add(ctx context.Context, n domain.Raised) error {
	r.told.Add(told(n))
	select {
	case r.waiting <- n:
		return nil
	default:
	}
	select {
	case r.waiting <- n:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// told is 1 for a notification that somebody was told.
func told(n domain.Raised) int64 { return int64(min(len(n.Transmissions), 1)) }

// take waits for company of the first and takes all that waits.
func (r *raised) take(ctx context.Context, first domain.Raised) {
	r.due = recorder.Company(ctx, r.waiting, first, func() bool { return r.told.Load() > 0 })
	for _, n := range r.due {
		r.told.Add(-told(n))
	}
}

// recordLater records what is raised, each with what comes within a moment after it, until Close.
func (e *Engine) recordLater() error {
	for {
		select {
		case <-e.ctx.Done():
			return nil
		case first := <-e.raised.waiting:
			e.raised.take(e.ctx, first)
		}
		if err := e.recordRaised(); err != nil {
			return err
		}
	}
}

// recordRaised records what is due, in order. What the log refuses for now is tried again, with back-off, until Close.
// What it refuses for good is logged: nothing that follows may wait for it.
func (e *Engine) recordRaised() error {
	for wait := recorder.FirstRetry; len(e.raised.due) > 0; wait = min(2*wait, recorder.LastRetry) {
		before := len(e.raised.due)
		err := e.tryRaised(e.ctx)
		switch {
		case err == nil || !recorder.ForNow(err) && len(e.raised.due) < before:
			continue
		case !recorder.ForNow(err) && e.raised.single:
			return err
		case !recorder.ForNow(err):
			e.raised.single = true
			continue
		}
		if err := recorder.Pause(e.ctx, e.Logger, wait, len(e.raised.due), err); err != nil {
			return err
		}
	}
	e.raised.single = false
	return nil
}

// tryRaised submits what is due and takes away what has its outcome, up to the first that is refused.
func (e *Engine) tryRaised(ctx context.Context) error {
	before := len(e.raised.due)
	defer func() { e.raised.tally.End(before - len(e.raised.due)) }()
	var reqs []domain.Request
	var groups [][]domain.Raised
	after := e.raised.last
	for left := e.raised.due; len(left) > 0; {
		n := e.raised.together(left)
		group := left[:n:n]
		left = left[n:]
		reqs = append(reqs, domain.Request{
			Stamp: e.stamp(group[0].CorrelationID), Command: domain.RaiseNotifications{Raised: group, After: after},
		})
		groups = append(groups, group)
		after = group[n-1].Notification.Cause
	}
	outcomes, err := e.Notifications.Submit(ctx, reqs...)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		group := groups[i]
		refused := o.Err != nil && !recorder.ForNow(o.Err) && len(group) == 1
		if refused {
			e.Logger.Error("notification refused", "cause", group[0].Notification.Cause, "error", o.Err)
		}
		if o.Err == nil {
			e.raised.last = group[len(group)-1].Notification.Cause
		}
		if o.Err == nil || refused {
			e.raised.due = e.raised.due[len(group):]
		}
		if o.Err != nil {
			return o.Err // those after it were refused because of it: once more
		}
	}
	e.raised.due = nil
	return nil
}

// together returns how many of those that wait one event records.
func (r *raised) together(waiting []domain.Raised) int {
	if r.single {
		return 1
	}
	const usual = 1 << 10 // bytes of a notification, and of a transmission
	n, bytes := 0, 0
	for n < min(len(waiting), raisedTogether) && bytes < raisedBytes {
		bytes += usual*(1+len(waiting[n].Transmissions)) + len(waiting[n].Notification.Content)
		n++
	}
	return n
}
