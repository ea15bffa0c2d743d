package bridge

import (
	"fmt"

	"ledge/domain"
)

type target struct {
	subscription string
	channel      domain.Channel
}

// fold takes one event into routes and moves the sockets that it moves. What was in routes at the start is bound already.
func (e *Engine) fold(r domain.Recorded) {
	e.mu.Lock()
	came, went := e.routes.step(r.Event)
	fresh := r.Seq > e.started
	e.mu.Unlock()
	if fresh {
		e.hold(came)
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
		for _, c := range e.routes.byName[name].Channels {
			targets = append(targets, target{subscription: name, channel: c})
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
			e.handOver(e.deliverPosted(a.Notification, r.CorrelationID))
		}
	}
	return nil
}

// deliverPosted delivers a notification to the subscriptions of this moment, and returns the outcome to be recorded.
func (e *Engine) deliverPosted(n domain.Notification, correlation string) domain.Request {
	n, targets := e.route(n)
	return domain.Request{
		Stamp: e.stamp(correlation),
		Command: domain.ProcessNotification{
			ID: n.ID, Matched: n.Matched, Transmissions: e.deliver(n, targets), At: e.Now().UnixMilli(),
		},
	}
}

// deliver sends n to each of the channels and returns what became of it.
func (e *Engine) deliver(n domain.Notification, targets []target) []domain.Transmission {
	if len(targets) == 0 {
		return nil
	}
	now := e.Now().UnixMilli()
	ts := make([]domain.Transmission, 0, len(targets))
	for i, t := range targets {
		status, response := e.channels.send(t.channel, n)
		if status == domain.StatusFailed {
			e.Logger.Warn("notification not delivered", "notification", n.ID, "subscription", t.subscription, "error", response)
		}
		ts = append(ts, domain.Transmission{
			ID:             derive(n.ID, fmt.Sprint(t.subscription, "/", i)),
			NotificationID: n.ID, SubscriptionName: t.subscription, Channel: t.channel, Status: status,
			Records: []domain.TransmissionRecord{{Status: status, Response: response, Sent: now}}, Created: now,
		})
	}
	return ts
}
