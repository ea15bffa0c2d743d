package handlers

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

// validationsAtOnce is how many elements of one request are asked about at a time.
const validationsAtOnce = 16

// validate asks about the orders that want it; a no is their answer. The error says that the request has ended meanwhile.
func (b *batch) validate(ctx context.Context) error {
	asks := func(o Order) bool { return o.Ask != nil && o.Refused == nil }
	if !slices.ContainsFunc(b.orders, asks) {
		return nil
	}
	var asking errgroup.Group
	asking.SetLimit(validationsAtOnce)
	for i := range b.orders {
		if o := &b.orders[i]; asks(*o) {
			asking.Go(func() error {
				o.Refused = o.Ask(ctx, b.stamp)
				return nil
			})
		}
	}
	_ = asking.Wait()
	return ctx.Err()
}

// lookUp looks up the names that the orders need.
func (b *batch) lookUp(ctx context.Context) {
	hosts := map[string]bool{}
	for _, o := range b.orders {
		for _, name := range o.Names {
			hosts[name] = true
		}
	}
	if len(hosts) > 0 {
		b.api.names.LookUp(ctx, b.api.Names, b.stamp.Origin, hosts)
	}
}
