package bridge

import (
	"fmt"

	"ledge/domain"
)

// target is one channel that a notification goes to.
type target struct {
	subscription domain.Subscription
	channel      domain.Channel
}

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

// route matches a notification with the subscriptions of this moment; it returns it with their names, and their
// channels.
func (e *Engine) route(n domain.Notification) (domain.Notification, []target) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n.Matched = e.routes.match(n)
	var targets []target
	for _, name := range n.Matched {
		s := e.routes.byName[name]
		for _, c := range s.Channels {
			targets = append(targets, target{s, c})
		}
	}
	return n, targets
}

// onNotifications delivers what was posted; what device changes raised is delivered by onEvents. A subscription that was
// answered before the notification was posted gets it.
func (e *Engine) onNotifications(group []domain.Recorded) error {
	for _, r := range group {
		if a, ok := r.Event.(domain.NotificationAdded); ok && a.Notification.Status == domain.StatusNew {
			if err := e.catchUp(e.ctx, e.Recorded()); err != nil {
				return err
			}
			e.posting.Begin()
			e.outcomes.Add(e.ctx, e.deliverPosted(a.Notification, r.CorrelationID))
			e.posting.End(1)
		}
	}
	return nil
}

// deliverPosted routes a notification to the subscriptions of this moment, and returns what is to be recorded.
func (e *Engine) deliverPosted(n domain.Notification, correlation string) domain.Request {
	n, targets := e.route(n)
	return domain.Request{
		Stamp: e.stamp(correlation),
		Command: domain.ProcessNotification{
			ID: n.ID, Matched: n.Matched, Transmissions: e.deliver(n, targets, correlation), At: e.Now().UnixMilli(),
		},
	}
}

// deliver publishes n on each ZeroMQ channel, and returns the transmissions of all channels. What is not delivered yet
// is open: bridge/delivery takes it from the record.
func (e *Engine) deliver(n domain.Notification, targets []target, correlation string) []domain.Transmission {
	if len(targets) == 0 {
		return nil
	}
	now := e.Now().UnixMilli()
	ts := make([]domain.Transmission, 0, len(targets))
	for i, t := range targets {
		tr := e.transmission(n, t, i, now)
		tr.CorrelationID = correlation
		if t.channel.Type == domain.ChannelZeroMQ {
			e.publish(&tr, n, now)
		}
		ts = append(ts, tr)
	}
	return ts
}

// transmission is the open one of n to the i-th of its targets.
func (e *Engine) transmission(n domain.Notification, t target, i int, now int64) domain.Transmission {
	limit, interval := e.Resend.of(t.subscription)
	return domain.Transmission{
		ID:             derive(n.ID, fmt.Sprint(t.subscription.Name, "/", i)),
		NotificationID: n.ID, SubscriptionName: t.subscription.Name, Channel: t.channel, Status: domain.StatusResending,
		ResendLimit: limit, ResendInterval: interval.Milliseconds(), Created: now, Next: now,
	}
}

// publish is the first try of a ZeroMQ channel, which takes no time. Where it fails, is the only one and what is critical
// would be given up, it does not count: bridge/delivery makes that one, and escalates.
func (e *Engine) publish(t *domain.Transmission, n domain.Notification, now int64) {
	response, err := e.channels.send(t.Channel, n)
	record := domain.TransmissionRecord{Status: domain.StatusSent, Response: response, Sent: now}
	if err != nil {
		e.Logger.Warn("notification not delivered", "notification", n.ID, "subscription", t.SubscriptionName, "error", err)
		record.Status, record.Response = domain.StatusFailed, err.Error()
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
