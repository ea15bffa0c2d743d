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
	outcome      domain.Request // of one that is delivered and not yet on record
}

type target struct {
	subscription string
	channel      domain.Channel
	gone         bool // the subscription was removed meanwhile
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
		s, there := e.routes.byName[name]
		if !there {
			d.targets = append(d.targets, target{subscription: name, gone: true})
		}
		for _, c := range s.Channels {
			d.targets = append(d.targets, target{subscription: name, channel: c})
		}
	}
}

// onNotifications delivers what was posted; what device changes raised is delivered by onEvents. A subscription that was
// answered before the notification was posted gets it.
func (e *Engine) onNotifications(group []domain.Recorded) error {
	for _, r := range group {
		if a, ok := r.Event.(domain.NotificationAdded); ok && a.Notification.Cause == 0 && a.Notification.Status == domain.StatusNew {
			if err := e.catchUp(e.ctx, e.Recorded()); err != nil {
				return err
			}
			e.handOver(e.deliver(e.route(a.Notification, r.CorrelationID)))
		}
	}
	return nil
}

// deliver sends d to each of its channels and returns the outcome to be recorded.
func (e *Engine) deliver(d delivery) domain.Request {
	now := e.Now().UnixMilli()
	ts := make([]domain.Transmission, 0, len(d.targets))
	for i, t := range d.targets {
		status, response := domain.StatusFailed, "the subscription was removed before the notification was delivered"
		if !t.gone {
			status, response = e.channels.send(t.channel, d.notification)
		}
		if status == domain.StatusFailed {
			e.Logger.Warn("notification not delivered", "notification", d.notification.ID, "subscription", t.subscription, "error", response)
		}
		ts = append(ts, domain.Transmission{
			ID:             derive(d.notification.ID, fmt.Sprint(t.subscription, "/", i)),
			NotificationID: d.notification.ID, SubscriptionName: t.subscription, Channel: t.channel, Status: status,
			Records: []domain.TransmissionRecord{{Status: status, Response: response, Sent: now}}, Created: now,
		})
	}
	return domain.Request{
		Stamp: e.stamp(d.correlation),
		Command: domain.ProcessNotification{
			ID: d.notification.ID, Matched: d.notification.Matched, Transmissions: ts, At: now,
		},
	}
}
