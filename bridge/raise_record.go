package bridge

import (
	"context"

	"ledge/bridge/outward"
	"ledge/bridge/recorder"
	"ledge/domain"
)

// raisedTogether is the most notifications that one event records, and raisedBytes about the most bytes of them.
const (
	raisedTogether = 256
	raisedBytes    = 512 << 10
)

// recordLater records what is raised, each with what comes within a moment after it, until Close.
func (e *Engine) recordLater() error {
	for {
		select {
		case <-e.ctx.Done():
			return nil
		case first := <-e.raised.waiting:
			e.raised.due = recorder.Batch(e.ctx, e.raised.waiting, first, e.raised.hurry)
		}
		if err := e.recordRaised(); err != nil {
			return err
		}
	}
}

// recordRaised records what is due, in order. What the log refuses for now is tried again, with back-off, until Close.
// What it refuses for good is logged and counted: nothing that follows may wait for it.
func (e *Engine) recordRaised() error {
	for len(e.raised.due) > 0 {
		if err := recorder.Retry(e.ctx, e.Logger, func() error { return e.tryRaised(e.ctx) }); err != nil {
			return err
		}
	}
	e.raised.single = false
	return nil
}

// tryRaised submits the first of what is due, as much as is handed to the log at once, and takes away what has its outcome. Its error says
// that the log takes nothing, for now if it is [recorder.ForNow].
func (e *Engine) tryRaised(ctx context.Context) error {
	reqs, sizes := e.raisedRequests()
	outcomes, err := e.Notifications.Submit(ctx, reqs...)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		switch {
		case o.Err == nil:
			e.raised.recorded(sizes[i], o.Event)
		case recorder.ForNow(o.Err):
			return o.Err
		case sizes[i] > 1:
			e.raised.single = true // those after it were refused because of it: once more
			return nil
		default:
			e.refuse(o.Err)
			return nil
		}
	}
	return nil
}

// recorded takes away what an event has recorded; nil says that it was on record already, or that its notification is gone.
func (r *raised) recorded(n int, event domain.Event) {
	switch last := r.due[n-1]; {
	case last.part == nil && !last.Notification.Partial, last.part != nil && !last.part.More && event != nil:
		r.last = last.Notification.Cause
	}
	r.ended(n)
}

// refuse takes the first of what is due away because the log refuses it for good. What is in smaller parts takes its place, so that no
// subscription is left out but the one at fault.
func (e *Engine) refuse(why error) {
	first := e.raised.due[0]
	smaller := first.smaller()
	named := ""
	if first.part != nil && len(first.part.Matched) == 1 {
		named = first.part.Matched[0]
	}
	if len(smaller) == 0 || named != "" {
		e.raised.refused.Add(1)
		e.Logger.Error("notification or delivery not recorded", "cause", first.Notification.Cause, "notification", first.Notification.ID,
			"subscription", named, "error", outward.Cut(why.Error()))
	}
	if len(smaller) == 0 {
		e.raised.ended(1)
		return
	}
	last := &smaller[len(smaller)-1]
	last.bytes, last.ends = first.bytes, first.ends
	e.raised.due = append(smaller, e.raised.due[1:]...)
}

// smaller is what to record in place of n: a notification by itself and each subscription's transmissions by themselves.
func (n raising) smaller() (list []raising) {
	if n.part == nil && len(n.Transmissions) == 0 {
		return nil
	}
	part := n.part
	whole := domain.Raised{Notification: n.Notification, CorrelationID: n.CorrelationID}
	if part == nil {
		note := n.Notification
		part = &domain.ProcessNotification{ID: note.ID, Matched: note.Matched, Transmissions: n.Transmissions, At: note.Modified}
		whole.Notification.Status, whole.Notification.Open = domain.StatusNew, 0
		whole = begun(whole)
		list = append(list, raising{Raised: whole})
	}
	parts := part.Smaller()
	for i := range parts {
		list = append(list, raising{Raised: whole, part: &parts[i]})
	}
	return list
}

// raisedRequests returns the commands for the first of what is due, with how many of them each records.
func (e *Engine) raisedRequests() (reqs []domain.Request, sizes []int) {
	after, bytes := e.raised.last, int64(0)
	for left := e.raised.due; len(left) > 0 && bytes < recorder.SubmitBytes; {
		n, size := e.raised.together(left), int64(0)
		for _, d := range left[:n] {
			size += d.bytes
		}
		bytes += size
		command := domain.Command(domain.RaiseNotifications{Raised: notificationsOf(left[:n]), After: after})
		switch {
		case left[0].part != nil:
			command = *left[0].part
		case left[0].none:
			command = domain.RaiseNotifications{UpTo: left[0].Notification.Cause, After: after}
		}
		reqs = append(reqs, domain.Request{Stamp: e.stamp(left[0].CorrelationID), Command: command, Bytes: int(size)})
		sizes = append(sizes, n)
		after = left[n-1].Notification.Cause
		left = left[n:]
	}
	return reqs, sizes
}

func notificationsOf(list []raising) []domain.Raised {
	all := make([]domain.Raised, len(list))
	for i, n := range list {
		all[i] = n.Raised
	}
	return all
}

// together returns how many of those that wait one event records: one part, or some notifications of which only the last is Partial.
func (r *raised) together(waiting []raising) int {
	if r.single || waiting[0].part != nil || waiting[0].none {
		return 1
	}
	n, bytes := 0, int64(0)
	for n < min(len(waiting), raisedTogether) && bytes < raisedBytes && waiting[n].part == nil && !waiting[n].none {
		bytes += waiting[n].bytes
		if n++; waiting[n-1].Notification.Partial {
			break
		}
	}
	return n
}
