package asof

import (
	"context"
	"encoding/json"

	"ledge/domain"
)

// kind is how a kind of entity is found in the state and in events.
type kind[T any] struct {
	name    string
	table   func(domain.State) domain.Table[T]
	update  func(domain.Event) (domain.Update, bool)
	removed func(domain.Event) (last T, name string, ok bool)
}

var devices = kind[domain.Device]{
	"device", func(s domain.State) domain.Table[domain.Device] { return s.Devices },
	func(e domain.Event) (domain.Update, bool) { u, ok := e.(domain.DevicePatched); return u.Update, ok },
	func(e domain.Event) (domain.Device, string, bool) {
		r, ok := e.(domain.DeviceRemoved)
		return r.Device, r.Device.Name, ok
	},
}

var profiles = kind[domain.Profile]{
	"profile", func(s domain.State) domain.Table[domain.Profile] { return s.Profiles },
	func(e domain.Event) (domain.Update, bool) { u, ok := e.(domain.ProfilePatched); return u.Update, ok },
	func(e domain.Event) (domain.Profile, string, bool) {
		r, ok := e.(domain.ProfileRemoved)
		return r.Profile, r.Profile.Name, ok
	},
}

var services = kind[domain.DeviceService]{
	"service", func(s domain.State) domain.Table[domain.DeviceService] { return s.Services },
	func(e domain.Event) (domain.Update, bool) { u, ok := e.(domain.ServicePatched); return u.Update, ok },
	func(e domain.Event) (domain.DeviceService, string, bool) {
		r, ok := e.(domain.ServiceRemoved)
		return r.Service, r.Service.Name, ok
	},
}

var watchers = kind[domain.ProvisionWatcher]{
	"watcher", func(s domain.State) domain.Table[domain.ProvisionWatcher] { return s.Watchers },
	func(e domain.Event) (domain.Update, bool) { u, ok := e.(domain.WatcherPatched); return u.Update, ok },
	func(e domain.Event) (domain.ProvisionWatcher, string, bool) {
		r, ok := e.(domain.WatcherRemoved)
		return r.Watcher, r.Watcher.Name, ok
	},
}

var subscriptions = kind[domain.Subscription]{
	"subscription", func(s domain.State) domain.Table[domain.Subscription] { return s.Subscriptions },
	func(e domain.Event) (domain.Update, bool) {
		u, ok := e.(domain.SubscriptionPatched)
		return u.Update, ok
	},
	func(e domain.Event) (domain.Subscription, string, bool) {
		r, ok := e.(domain.SubscriptionRemoved)
		return r.Subscription, r.Subscription.Name, ok
	},
}

// update is an update of one entity.
type update interface {
	// latest returns it with the entity of the state, where that is the one after it.
	latest(s domain.State, seq uint64) (domain.Event, bool)
	// older returns it with the entity as it was, which has changed or was removed since.
	older(ctx context.Context, p *Entities, r domain.Recorded) (domain.Event, error)
}

// one is an update of an entity of a kind.
type one[T any] struct {
	kind[T]
	domain.Update
	with func(after T) domain.Event
}

// updateOf returns nil where an event is none.
func updateOf(e domain.Event) update {
	switch e := e.(type) {
	case domain.DevicePatched:
		return one[domain.Device]{devices, e.Update, e.With}
	case domain.ProfilePatched:
		return one[domain.Profile]{profiles, e.Update, e.With}
	case domain.ServicePatched:
		return one[domain.DeviceService]{services, e.Update, e.With}
	case domain.WatcherPatched:
		return one[domain.ProvisionWatcher]{watchers, e.Update, e.With}
	case domain.SubscriptionPatched:
		return one[domain.Subscription]{subscriptions, e.Update, e.With}
	}
	return nil
}

// latest implements update.
func (o one[T]) latest(s domain.State, seq uint64) (domain.Event, bool) {
	t := o.table(s)
	if domain.Revision(t, o.Name) != seq {
		return nil, false
	}
	entity, ok := t.Get(o.Name)
	if !ok {
		return nil, false
	}
	return o.with(entity), true
}

// older implements update.
func (o one[T]) older(ctx context.Context, p *Entities, r domain.Recorded) (domain.Event, error) {
	after, ok, err := afterOf(ctx, p, o, r.Seq)
	if !ok || err != nil {
		return r.Event, err
	}
	return o.with(domain.After(domain.Update{Modified: o.Modified}, after)), nil
}

// size is how many bytes of JSON an entity has; one that cannot be encoded counts as all that is remembered.
func size(entity any) int {
	text, err := json.Marshal(entity)
	if err != nil {
		return mostKnown
	}
	return len(text)
}
