package bridge

import (
	"fmt"

	"ledge/domain"
)

// delivery is a notification with the channels that it goes to.
type delivery struct {
	notification domain.Notification
	targets      []target
	correlation  string
}

type target struct {
	subscription string
	channel      domain.Channel
}

// fold takes one event into routes and moves the sockets that it moves. What was in routes at the start is bound already.
func (e *Engine) fold(r domain.Recorded) {
	e.mu.Lock()
	came, went := e.routes.step(r.Event)
	fresh := r.Seq > e.followed
	e.followed = max(e.followed, r.Seq)
	ended := e.endReservations()
	e.mu.Unlock()
	if fresh {
		e.hold("", came)
		e.channels.release(went)
	}
	for _, list := range ended {
		e.channels.release(list)
	}
	e.mu.Lock()
	e.settled = max(e.settled, r.Seq)
	e.moved.Broadcast()
	e.mu.Unlock()
}

// route matches a notification with the subscriptions of this moment.
func (e *Engine) route(n domain.Notification, correlation string) delivery {
	e.mu.Lock()
	defer e.mu.Unlock()
	n.Matched = e.routes.match(n)
	d := delivery{notification: n, correlation: correlation}
	e.target(&d)
	return d
}

// target finds the channels of the subscriptions in Matched; e.mu is held.
func (e *Engine) target(d *delivery) {
	for _, name := range d.notification.Matched {
		for _, c := range e.routes.byName[name].Channels {
			d.targets = append(d.targets, target{name, c})
		}
	}
}

// onNotifications delivers what was posted; what device changes raised is delivered by onEvents.
func (e *Engine) onNotifications(group []domain.Recorded) error {
	for _, r := range group {
		if a, ok := r.Event.(domain.NotificationAdded); ok && a.Notification.Cause == 0 && a.Notification.Status == domain.StatusNew {
			e.deliver(e.route(a.Notification, r.CorrelationID))
		}
	}
	return nil
}

// deliver sends d to each of its channels and hands the outcome over to be recorded.
func (e *Engine) deliver(d delivery) {
	now := e.Now().UnixMilli()
	ts := make([]domain.Transmission, 0, len(d.targets))
	for i, t := range d.targets {
		status, response := e.channels.send(t.channel, d.notification)
		if status == domain.StatusFailed {
			e.Logger.Warn("notification not delivered", "notification", d.notification.ID, "subscription", t.subscription, "error", response)
		}
		ts = append(ts, domain.Transmission{
			ID:             derive(d.notification.ID, fmt.Sprint(t.subscription, "/", i)),
			NotificationID: d.notification.ID, SubscriptionName: t.subscription, Channel: t.channel, Status: status,
			Records: []domain.TransmissionRecord{{Status: status, Response: response, Sent: now}}, Created: now,
		})
	}
	outcome := domain.Request{
		Stamp:   e.stamp(d.correlation),
		Command: domain.ProcessNotification{ID: d.notification.ID, Transmissions: ts, At: now},
	}
	select {
	case e.outcomes <- outcome:
	case <-e.ctx.Done():
	}
}
