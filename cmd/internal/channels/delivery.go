package channels

import (
	"context"
	"fmt"
	"time"

	"ledge/bridge/delivery"
	"ledge/bridge/lanes"
	"ledge/domain"
)

// startDelivery starts to deliver what the bridge has routed to channels that take time.
func (cs *Channels) startDelivery() error {
	cs.Delivery = delivery.New(delivery.Options{
		Limits: delivery.Limits{
			Limits: lanes.Limits{
				Concurrency: cs.outgoing("deliveries", lanes.DefaultConcurrency, cs.OutgoingDescriptors/2),
			},
		},
		Log: cs.Node.Notifications.Appender, Look: cs.Node.Notifications.View, Senders: cs.senders,
		Escalation: func() (domain.Subscription, bool) { return cs.Engine.Subscription(domain.EscalationSubscription) },
		Now:        cs.Now, Logger: cs.Logger,
	})
	at, _ := cs.Node.Notifications.State.Checkpoint()
	if err := cs.Delivery.Start(at); err != nil {
		return fmt.Errorf("start the delivery: %w", err)
	}
	cs.onClose(cs.Delivery.Close)
	return nil
}

// outgoing is how many sends of a kind may be under way at once: as many as wanted, or as there are file descriptors for.
func (cs *Channels) outgoing(kind string, wanted, most int) int {
	if most = max(1, most); wanted > most {
		cs.Logger.Info("concurrent "+kind+" are limited by the file descriptors of the process; raise their limit, such as with `ulimit -n 4096`", "wanted", wanted, "used", most)
	}
	return min(wanted, most)
}

// flushWait bounds how long a request waits for the record of what answered requests have raised.
const flushWait = 250 * time.Millisecond

// ViewFlushed is a look at the notifications. It has all transmissions of what was answered before, unless their record takes long: a disk
// may be full.
func (cs *Channels) ViewFlushed() (domain.View, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), flushWait)
	defer cancel()
	_ = cs.Engine.Flush(ctx) // if it fails, the look is at what is on record
	return cs.Node.Notifications.View()
}
