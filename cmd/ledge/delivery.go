package main

import (
	"context"
	"fmt"

	"ledge/bridge/delivery"
	"ledge/domain"
)

// startDelivery starts to deliver what the bridge has routed to channels that take time.
func (p *Program) startDelivery(ctx context.Context) error {
	c := p.Config
	p.delivery = delivery.New(delivery.Options{
		Limits: delivery.Limits{
			AtOnce: c.DeliveryAtOnce, Concurrency: p.outgoing("delivery-concurrency", c.DeliveryConcurrency, p.files.Outgoing/2), Queue: c.DeliveryQueue,
			Timeout: c.DeliveryTimeout, LongestWait: c.DeliveryLongestWait, LongestPause: c.DeliveryLongestPause, GiveUp: c.DeliveryGiveUp,
		},
		Log: p.data.notifications, Look: p.data.noteLook, Senders: p.senders(),
		Escalation: func() (domain.Subscription, bool) { return p.engine.Subscription(domain.EscalationSubscription) },
		Now:        p.Now, Logger: p.Logger,
	})
	at, _ := p.data.notes.Checkpoint()
	if err := p.delivery.Start(ctx, at); err != nil {
		return fmt.Errorf("start the delivery: %w", err)
	}
	p.onClose(p.delivery.Close)
	return nil
}

// outgoing is what a setting says of sends at once, or as many as there are file descriptors for. Slow endpoints and those that fail have as
// many again.
func (p *Program) outgoing(setting string, wanted, most int) int {
	if most = max(1, most); wanted > most {
		p.Logger.Info("fewer sends at once than the setting says, for want of file descriptors; raise the limit, such as with `ulimit -n 4096`", "setting", setting, "value", wanted, "used", most)
	}
	return min(wanted, most)
}

// noteLook is one consistent look at the notifications, for the delivery.
func (d *data) noteLook() (domain.State, delivery.Transmissions, func()) {
	v, done := d.notes.View()
	return v.State, v, done
}
