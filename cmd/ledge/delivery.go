package main

import (
	"context"
	"fmt"
	"time"

	"ledge/bridge/delivery"
	"ledge/bridge/lanes"
	"ledge/domain"
)

// startDelivery starts to deliver what the bridge has routed to channels that take time.
func (p *Program) startDelivery() error {
	p.delivery = delivery.New(delivery.Options{
		Limits: delivery.Limits{
			Limits: lanes.Limits{
				Concurrency: p.outgoing("deliveries", lanes.DefaultConcurrency, p.files.Outgoing/2),
			},
		},
		Log: p.node.Notifications.Appender, Look: p.node.Notifications.View, Senders: p.senders(),
		Escalation: func() (domain.Subscription, bool) { return p.engine.Subscription(domain.EscalationSubscription) },
		Now:        p.Now, Logger: p.Logger,
	})
	at, _ := p.node.Notifications.State.Checkpoint()
	if err := p.delivery.Start(at); err != nil {
		return fmt.Errorf("start the delivery: %w", err)
	}
	p.onClose(p.delivery.Close)
	return nil
}

// outgoing is how many sends of a kind may be under way at once: as many as wanted, or as there are file descriptors for.
func (p *Program) outgoing(kind string, wanted, most int) int {
	if most = max(1, most); wanted > most {
		p.Logger.Info("concurrent "+kind+" are limited by the file descriptors of the process; raise their limit, such as with `ulimit -n 4096`", "wanted", wanted, "used", most)
	}
	return min(wanted, most)
}

// flushWait bounds how long a request waits for the record of what answered requests have raised.
const flushWait = 250 * time.Millisecond

// flushedNotes is a look at the notifications. It has all transmissions of what was answered before, unless their record takes long: a disk
// may be full.
func (p *Program) flushedNotes() (domain.View, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), flushWait)
	defer cancel()
	_ = p.engine.Flush(ctx) // if it fails, the look is at what is on record
	return p.node.Notifications.View()
}
