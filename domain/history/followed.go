package history

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
	// Want says which updates the follower uses (nil: all of them). The others stay as they are on the log, because making one whole can take
	// a look at the stream.
	Want func(domain.Event) bool
}

// Notified reports whether notifications depend on an event: it is a change of a device, or of a subscription.
func Notified(e domain.Event) bool {
	_, device := e.(domain.DevicePatched)
	return device || isSubscription(e)
}

// CalledBack reports whether the follower of callbacks needs the whole entity of an event. Of a profile it needs the name; the request reads the
// whole one again.
func CalledBack(e domain.Event) bool {
	_, profile := e.(domain.ProfilePatched)
	return !profile
}

func isSubscription(e domain.Event) bool {
	switch e.(type) {
	case domain.SubscriptionAdded, domain.SubscriptionUpdated, domain.SubscriptionPatched, domain.SubscriptionRemoved:
		return true
	}
	return false
}

// Follow calls f with groups as Log does.
func (l Followed) Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error {
	return l.Log.Follow(ctx, from, func(group []domain.Recorded) error {
		group, err := l.Group(ctx, group, l.Want)
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

// ReadSubscriptions is Read of the events of subscriptions alone. No other update is made whole, which can take a look at the
// stream for each.
func (p *Entities) ReadSubscriptions(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	return p.History(ctx, from, to, func(r domain.Recorded) error {
		if !isSubscription(r.Event) {
			return nil
		}
		r, err := p.Whole(ctx, r)
		if err != nil {
			return err
		}
		return f(r)
	})
}
