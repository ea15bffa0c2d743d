package retention

import (
	"context"
	"time"

	"ledge/cmd/internal/node"
	"ledge/handlers"
	"ledge/store"
)

// notificationAge removes notifications by the setting notifications-max-age, with their transmissions, the oldest first, in parts
// that each are one event on the log. The age of a notification is the time since it was last modified: since it was made,
// or had the last outcome of its deliveries, or was acknowledged. The files of the log follow, see logStart.
type notificationAge struct {
	logStart
	log *store.Appender
	age time.Duration
}

func newNotificationAge(age time.Duration, d *node.Node) *notificationAge {
	return &notificationAge{
		log: d.Notifications.Appender, age: age,
		logStart: logStart{d.Notifications.State, d.Notifications.Log, d.Logger, handlers.IdempotencyKeep, d.Now},
	}
}

// run removes until ctx ends: a look at the oldest each thousandth of the age.
func (a *notificationAge) run(ctx context.Context) error {
	if a.age == 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(pace(a.age))
	defer tick.Stop()
	for ctx.Err() == nil {
		a.sweep(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// sweep removes the notifications that are too old. Errors are logged, and the next look tries again.
func (a *notificationAge) sweep(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = a.remove(ctx); err != nil && ctx.Err() == nil {
			a.logger.Warn("retention interrupted, tried again in a minute or sooner", "setting", "notifications-max-age", "error", err)
		}
	}
	a.drop(ctx, a.age)
}

// remove removes one part. more says whether there may be another one.
func (a *notificationAge) remove(ctx context.Context) (more bool, err error) {
	v, done := a.state.View()
	part, err := v.Old(a.now().Add(-a.age).UnixMilli())
	done()
	if part.Empty() || err != nil {
		return false, err
	}
	part.Rule = "notifications-max-age=" + a.age.String()
	o, err := node.Submit(ctx, a.log, a.logger, a.now, part)
	return o.Event != nil, err
}
