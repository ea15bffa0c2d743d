package asof

import (
	"context"

	"ledge/domain"
)

// Log is the event stream.
type Log interface {
	Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error)
	Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error
}

// Followed is a Log whose followers get whole entities.
type Followed struct {
	Log
	*Entities
}

// Follow calls f with groups as Log does.
func (l Followed) Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error {
	return l.Log.Follow(ctx, from, func(group []domain.Recorded) error {
		group, err := l.Group(ctx, group)
		if err != nil {
			return err
		}
		return f(group)
	})
}

// Read is History with whole entities.
func (p *Entities) Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	return p.History(ctx, from, to, func(r domain.Recorded) error {
		r, err := p.Whole(ctx, r)
		if err != nil {
			return err
		}
		return f(r)
	})
}

// ReadSubscriptions is Read of the events of subscriptions alone. No other update is made whole, which can take a look at the stream for each.
func (p *Entities) ReadSubscriptions(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	return p.History(ctx, from, to, func(r domain.Recorded) error {
		switch r.Event.(type) {
		case domain.SubscriptionAdded, domain.SubscriptionUpdated, domain.SubscriptionPatched, domain.SubscriptionRemoved:
		default:
			return nil
		}
		r, err := p.Whole(ctx, r)
		if err != nil {
			return err
		}
		return f(r)
	})
}
