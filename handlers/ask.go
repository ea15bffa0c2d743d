package handlers

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// asksAtOnce is how many elements of one request are asked about at a time.
const asksAtOnce = 16

// ask asks about the orders that want it; a no is their answer. The error says that the request has ended meanwhile.
func (b *batch) ask(ctx context.Context) error {
	var asking errgroup.Group
	asking.SetLimit(asksAtOnce)
	asked := false
	for i := range b.orders {
		o := &b.orders[i]
		if o.Ask == nil || o.Refused != nil {
			continue
		}
		asked = true
		asking.Go(func() error {
			o.Refused = o.Ask(ctx, b.stamp.CorrelationID)
			return nil
		})
	}
	if !asked {
		return nil
	}
	_ = asking.Wait()
	return ctx.Err()
}
