package bridge

import (
	"fmt"
	"slices"

	"ledge/bridge/outward"
	"ledge/domain"
)

// fold takes one event into routes and moves the sockets that it moves. What was in routes at the start is bound already.
func (e *Engine) fold(r domain.Recorded) {
	e.mu.Lock()
	came, went := e.routes.step(r.Event)
	fresh := r.Seq > e.started
	e.mu.Unlock()
	if fresh {
		e.channels.hold(came)
		e.channels.release(went)
	}
	e.mu.Lock()
	e.settled = max(e.settled, r.Seq)
	ended := e.endReservations()
	e.moved.Broadcast()
	e.mu.Unlock()
	for _, list := range ended {
		e.channels.release(list)
	}
}

// subscribed reports whether there is any subscription at this moment.
func (e *Engine) subscribed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.routes.byName) > 0
}

// route returns the subscriptions of this moment that want a notification, in the order of their names.
func (e *Engine) route(n domain.Notification) []domain.Subscription {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.routes.wanting(n)
}

// onNotifications delivers what was posted; what device changes raised is delivered by onEvents. A subscription that was
// answered before the notification was posted gets it.
func (e *Engine) onNotifications(group []domain.Recorded) error {
	for _, r := range group {
		if a, ok := r.Event.(domain.NotificationAdded); ok && a.Notification.Status == domain.StatusNew {
			if err := e.catchUp(e.ctx, e.Recorded()); err != nil {
				return err
			}
			e.deliverPosted(a.Notification, e.route(a.Notification), origin{correlation: r.CorrelationID, sequence: r.Seq})
		}
	}
	if len(group) > 0 {
		e.mu.Lock()
		e.noted = max(e.noted, group[len(group)-1].Seq)
		e.moved.Broadcast()
		e.mu.Unlock()
	}
	return nil
}

// deliverPosted delivers a notification to subscriptions, and hands over what is to be recorded.
func (e *Engine) deliverPosted(n domain.Notification, to []domain.Subscription, from origin) {
	e.posting.Begin()
	defer e.posting.End(1)
	if n.Upto != "" { // a crash came between two parts
		to = slices.DeleteFunc(to, func(s domain.Subscription) bool { return s.Name <= n.Upto })
	}
	_ = e.deliver(n, to, from, func(part domain.ProcessNotification) error {
		e.outcomes.Add(e.ctx, domain.Request{Stamp: e.stamp(from.correlation), Command: part, Bytes: part.Bytes()})
		if hasOpen(part.Transmissions) {
			e.outcomes.Hurry()
		}
		return nil
	})
}

// partBytes is about how much of a notification's transmissions one event records: the next subscription makes another part.
const partBytes = 1 << 20

// deliver publishes n on each ZeroMQ channel of subscriptions that are in the order of their names, and hands the transmissions of all
// channels to record, in parts of whole subscriptions. What is not delivered yet is open: bridge/delivery takes it from the record.
func (e *Engine) deliver(n domain.Notification, to []domain.Subscription, from origin, record func(domain.ProcessNotification) error) error {
	now := e.Now().UnixMilli()
	part, bytes := domain.ProcessNotification{ID: n.ID, After: n.Upto, At: now}, 0
	first := 0 // the number of the subscription's first channel among all
	for i, s := range to {
		part.Matched = append(part.Matched, s.Name)
		for at, ch := range s.Channels {
			t := e.transmission(n, s, ch, first+at, now)
			t.CorrelationID = from.correlation
			if ch.Type == domain.ChannelZeroMQ {
				e.publish(&t, n, now)
			}
			if t.IsOpen() {
				t.Entity, t.Sequence, t.Critical = from.entity(), from.sequence, n.Severity == domain.SeverityCritical
			}
			part.Transmissions = append(part.Transmissions, t)
			bytes += t.Bytes()
		}
		first += len(s.Channels)
		if part.More = i < len(to)-1; part.More && bytes >= partBytes {
			if err := record(part); err != nil {
				return err
			}
			part, bytes = domain.ProcessNotification{ID: n.ID, After: s.Name, At: now}, 0
		}
	}
	part.More = false
	return record(part)
}

// origin is the event that raised a notification.
type origin struct {
	event       domain.Event // nil for a notification that was posted
	sequence    uint64       // in the stream of the event; 0 where it is not known
	correlation string
}

// entity names the device that changed, for the order of its changes.
func (o origin) entity() string {
	d, _, _ := deviceChange(o.event)
	return d.Name
}

// hasOpen reports whether bridge/delivery waits for the record of transmissions.
func hasOpen(ts []domain.Transmission) bool {
	return slices.ContainsFunc(ts, func(t domain.Transmission) bool { return t.IsOpen() })
}

// transmission is the open one of n to a channel, the i-th of all that it goes to.
func (e *Engine) transmission(n domain.Notification, s domain.Subscription, ch domain.Channel, i int, now int64) domain.Transmission {
	limit, interval, fixed := e.Resend.of(s)
	return domain.Transmission{
		ID:             derive(n.ID, fmt.Sprint(s.Name, "/", i)),
		NotificationID: n.ID, SubscriptionName: s.Name, Channel: ch, Status: domain.StatusResending,
		ResendLimit: limit, ResendInterval: interval.Milliseconds(), FixedInterval: fixed, Created: now, Next: now,
	}
}

// publish is the first try of a ZeroMQ channel, which takes no time. Where it fails, is the only one and what is critical
// would be given up, it does not count: bridge/delivery makes that one, and escalates.
func (e *Engine) publish(t *domain.Transmission, n domain.Notification, now int64) {
	response, err := e.channels.send(t.Channel, n)
	record := domain.TransmissionRecord{Status: domain.StatusSent, Response: response, Sent: now}
	if err != nil {
		e.Logger.Warn("notification not delivered", "notification", n.ID, "subscription", t.SubscriptionName, "error", err)
		record.Status, record.Response = domain.StatusFailed, outward.Cut(err.Error())
	}
	if err != nil && t.ResendLimit == 0 && n.Severity == domain.SeverityCritical {
		return
	}
	t.Records = []domain.TransmissionRecord{record}
	if err == nil || t.ResendLimit == 0 {
		t.Status, t.Next = record.Status, 0
		return
	}
	t.Next = now + t.ResendInterval
}
