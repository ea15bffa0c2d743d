package bridge

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"ledge/bridge/recorder"
	"ledge/domain"
)

// raisedWaiting is how many notifications, or parts of them, may wait while some are recorded; then the next delivery waits. Together they
// take recorder.WaitingBytes at most.
const raisedWaiting = 1024

// RecordEvery is after how many events that raise no notification their last one is recorded, so that a start follows no more of them again.
const RecordEvery = 10_000

// raised are the notifications that wait to be recorded, in the order of their causes. Deliveries go on meanwhile.
type raised struct {
	waiting chan raising
	budget  *semaphore.Weighted // bytes of waiting notifications
	tally   recorder.Tally      // of those that are delivered and then recorded
	hurry   recorder.Hurry      // somebody waits for what waits
	refused atomic.Int64        // notifications, or their parts, that the log refused for good
	handed  uint64              // of the follower of events: the last event that was handed over to be recorded

	// Of the goroutine that records, and then of Close.
	due    []raising // taken from waiting
	last   uint64    // cause of the last one that is on record
	single bool      // one of those that are due is refused for good: each is recorded by itself, to find it
}

// raising is a notification that waits to be recorded, or one part of its transmissions, or the end of events that raise none.
type raising struct {
	domain.Raised
	part  *domain.ProcessNotification // nil for a notification; its transmissions are all, unless it is Partial
	none  bool                        // the events up to Cause raise none
	bytes int64                       // of the budget
	ends  int                         // 1 where the tally ends with it; 0 where others follow in its place
}

func newRaised() raised {
	return raised{
		hurry: make(recorder.Hurry, 1), waiting: make(chan raising, raisedWaiting), budget: semaphore.NewWeighted(recorder.WaitingBytes),
	}
}

// onEvents takes one group of the event stream: it raises a notification for each device change and delivers it at once.
// The record follows. A crash before it repeats the delivery, because the cursor has not moved; so does a stop that finds
// no place for one to wait. While there is no subscription at all, a change raises none: nobody can have asked for it.
func (e *Engine) onEvents(group []domain.Recorded) error {
	for _, r := range group {
		n, ok := Raise(r)
		ok = ok && e.subscribed()
		if ok {
			e.raised.tally.Begin() // before fold: Flush waits for that, and then for the tally
		}
		e.fold(r)
		if !ok {
			if err := e.raised.passOver(e.ctx, r.Seq); err != nil {
				return err
			}
			continue
		}
		e.raised.handed = r.Seq
		err := e.deliver(n, e.route(n), origin{r.Event, r.Seq, r.CorrelationID}, func(part domain.ProcessNotification) error {
			if part.More {
				e.raised.tally.Begin() // for the next part
			}
			return e.raised.addPart(e.ctx, domain.Raised{Notification: n, CorrelationID: r.CorrelationID}, part)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// passOver takes an event that raises no notification, and adds it if the last one that was added is long ago.
func (r *raised) passOver(ctx context.Context, seq uint64) error {
	if seq < r.handed+RecordEvery {
		return nil
	}
	r.handed = seq
	return r.add(ctx, raising{Raised: domain.Raised{Notification: domain.Notification{Cause: seq}}, none: true})
}

// addPart adds a notification with its transmissions, where these are one part; else, before the first part, the notification by itself.
func (r *raised) addPart(ctx context.Context, n domain.Raised, part domain.ProcessNotification) error {
	if part.After == "" && !part.More {
		n.Notification.Matched, n.Transmissions = part.Matched, part.Transmissions
		n.Notification = n.Notification.Route(part.Transmissions)
		return r.add(ctx, raising{Raised: n, ends: 1})
	}
	if part.After == "" {
		if err := r.add(ctx, raising{Raised: begun(n)}); err != nil {
			return err
		}
	}
	return r.add(ctx, raising{Raised: n, part: &part, ends: 1})
}

// begun is a notification whose parts follow.
func begun(n domain.Raised) domain.Raised {
	n.Notification.Partial, n.Notification.Matched, n.Transmissions = true, nil, nil
	return n
}

// add waits for a place; its error says that ctx ended before there was one.
func (r *raised) add(ctx context.Context, n raising) error {
	n.bytes = int64(n.Bytes())
	if n.part != nil {
		n.bytes = int64(n.part.Bytes())
	}
	n.bytes = min(n.bytes, recorder.WaitingBytes)
	if err := recorder.Send(ctx, r.waiting, r.budget, n, n.bytes); err != nil {
		return err
	}
	if n.awaited() {
		r.hurry.Signal()
	}
	return nil
}

// awaited reports whether bridge/delivery waits for the record.
func (n raising) awaited() bool {
	if n.part != nil {
		return hasOpen(n.part.Transmissions)
	}
	return hasOpen(n.Transmissions)
}

// ended takes the first of those that are due away.
func (r *raised) ended(n int) {
	for _, d := range r.due[:n] {
		r.budget.Release(d.bytes)
		r.tally.End(d.ends)
	}
	r.due = r.due[n:]
}
