package retention

import (
	"context"
	"time"

	"ledge/domain"
	"ledge/projections"
)

// notificationAge is the limit notifications-max-age: notifications are removed with their transmissions, the oldest first, in parts that
// each are one event on the log. The age of a notification is the time since it was last modified: since it was made, or had the last outcome
// of its deliveries, or was acknowledged. The files of the log follow.
type notificationAge struct {
	stream
	age time.Duration
}

func (a notificationAge) keep(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		var part domain.CleanUp
		err := a.Read(func(v *projections.View) (err error) {
			part, err = v.Old(a.node.Now().Add(-a.age).UnixMilli())
			return err
		})
		if more = !part.Empty(); more && err == nil {
			var o domain.Outcome
			part.Rule = "notifications-max-age=" + a.age.String()
			o, err = a.Submit(ctx, part)
			more = o.Event != nil
		}
		if err != nil {
			return err
		}
	}
	return unneeded{a.stream, a.age}.keep(ctx)
}
