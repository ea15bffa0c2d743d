package domain

import (
	"fmt"
	"reflect"
	"slices"

	"ledge/domain/fastjson"
)

// Update records what changed of an entity, and no more: the fold applies it to the entity that is there, and does nothing
// where there is none. A reader that needs the whole entity as of an event has it from package history.
type Update struct {
	// Name is the entity's. It is not in the event's JSON, but in its subject.
	Name string `json:"-"`
	// Prev is the sequence of the event before that changed the same entity, 0 where that is not known.
	Prev uint64 `json:"prev,omitempty"`
	// Modified is the entity's new modified time, in milliseconds since the Unix epoch.
	Modified int64   `json:"modified"`
	Changes  Changes `json:"changes"`
	// effort is about how many bytes of the entity had to be looked at to decide.
	effort int
}

// Effort is about how many bytes had to be looked at to decide on an event, where that is more than the event says.
func (u Update) Effort() int { return u.effort }

type (
	// DevicePatched is the update of a device.
	DevicePatched struct{ Update }
	// ProfilePatched is the update of a device profile.
	ProfilePatched struct{ Update }
	// ServicePatched is the update of a device service.
	ServicePatched struct{ Update }
	// WatcherPatched is the update of a provision watcher.
	WatcherPatched struct{ Update }
	// SubscriptionPatched is the update of a subscription.
	SubscriptionPatched struct{ Update }
)

// After returns the entity after an update, Before the one before it. Before keeps the modified time as it is: the event
// before this one has it.
func After[T any](u Update, entity T) T {
	entity = applied(u.Changes, entity, false)
	reflect.ValueOf(&entity).Elem().FieldByName("Modified").SetInt(u.Modified)
	return entity
}

// ModifiedOf returns the modified time of an entity, in milliseconds since the Unix epoch.
func ModifiedOf(entity any) int64 { return reflect.ValueOf(entity).FieldByName("Modified").Int() }

// Before is the inverse of [After].
func Before[T any](u Update, entity T) T { return applied(u.Changes, entity, true) }

// updateOf is the update that makes after of before; ok is false where they are the same.
func updateOf[T any](t Table[T], name string, before, after T, at int64) (u Update, ok bool, err error) {
	changes, err := Diff(before, after)
	if err != nil {
		return u, false, fmt.Errorf("%q: %w", name, err)
	}
	return Update{Name: name, Prev: Revision(t, name), Modified: at, Changes: changes}, len(changes) > 0, nil
}

// evolve applies the update to the entity in t. It returns the entity before and after.
func evolve[T any](u Update, t Table[T]) (before, after T, ok bool) {
	if before, ok = t.Get(u.Name); !ok {
		return before, after, false
	}
	after = After(u, before)
	t.Put(u.Name, after)
	return before, after, true
}

// Evolve changes the device, and counts it at the profile and the service that it has then.
func (e DevicePatched) Evolve(s State) {
	if before, after, ok := evolve(e.Update, s.Devices); ok && e.moves() {
		count(s, before, -1)
		count(s, after, +1)
	}
}

// Evolve changes the profile.
func (e ProfilePatched) Evolve(s State) { evolve(e.Update, s.Profiles) }

// Evolve changes the service.
func (e ServicePatched) Evolve(s State) { evolve(e.Update, s.Services) }

// Evolve changes the watcher, and counts it at the profile and the service that it has then.
func (e WatcherPatched) Evolve(s State) {
	if before, after, ok := evolve(e.Update, s.Watchers); ok && e.moves() {
		countUses(s, before.ProfileName, before.ServiceName, -1)
		countUses(s, after.ProfileName, after.ServiceName, +1)
	}
}

// Evolve changes the subscription.
func (e SubscriptionPatched) Evolve(s State) { evolve(e.Update, s.Subscriptions) }

// OnlyReported reports whether a change is only of the times that a device service reports: as in EdgeX 2.3, nobody is told of it.
func OnlyReported(changed []string) bool {
	return len(changed) > 0 && !slices.ContainsFunc(changed, func(name string) bool { return name != "lastConnected" && name != "lastReported" })
}

func (u Update) moves() bool { return moved(u.Changes.Names()) }

// Subject implements Event.
func (e DevicePatched) Subject() Subject { return Subject{"device", e.Name, "updated"} }

// Subject implements Event.
func (e ProfilePatched) Subject() Subject { return Subject{"profile", e.Name, "updated"} }

// Subject implements Event.
func (e ServicePatched) Subject() Subject { return Subject{"service", e.Name, "updated"} }

// Subject implements Event.
func (e WatcherPatched) Subject() Subject { return Subject{"watcher", e.Name, "updated"} }

// Subject implements Event.
func (e SubscriptionPatched) Subject() Subject { return Subject{"subscription", e.Name, "updated"} }

func (e DevicePatched) free() bool { _, ok := e.Changes["location"]; return ok }

func (e ProfilePatched) free() bool { _, ok := e.Changes["deviceResources"]; return ok }

var updateCodec = fastjson.Of[Update]()

// update is the kind of the update E of an entity T.
func update[E interface {
	Event
	~struct{ Update }
}, T any](name string) kind {
	decode := func(w Wire) (Event, error) {
		if len(w.Subject) != 3 {
			return nil, fmt.Errorf("decode %s: subject %v has not the three tokens entity, name, updated", name, w.Subject)
		}
		u := Update{}
		err := known(updateCodec.UnmarshalKnown(w.Data, &u))
		if err == nil {
			err = u.Changes.check(reflect.TypeFor[T]())
		}
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", name, err)
		}
		u.Name = w.Subject[1]
		return E(struct{ Update }{u}), nil
	}
	encode := func(event Event, w Wire) (Wire, error) {
		u := struct{ Update }(event.(E)).Update
		data, err := updateCodec.Append(make([]byte, 0, usualEvent), &u)
		if err != nil {
			return Wire{}, fmt.Errorf("encode %s: %w", name, err)
		}
		w.Data = data
		return w, nil
	}
	return kind{name, reflect.TypeFor[E](), decode, encode, nil}
}

// Whole returns an update as the event that it was in version 1, with the whole entity after it; s is the state before it. Any
// other event, and the update of an entity that is not there, is returned as it is.
func Whole(s State, e Event) Event {
	switch p := e.(type) {
	case DevicePatched:
		if d, ok := s.Devices.Get(p.Name); ok {
			return p.With(After(p.Update, d))
		}
	case ProfilePatched:
		if d, ok := s.Profiles.Get(p.Name); ok {
			return p.With(After(p.Update, d))
		}
	case ServicePatched:
		if d, ok := s.Services.Get(p.Name); ok {
			return p.With(After(p.Update, d))
		}
	case WatcherPatched:
		if d, ok := s.Watchers.Get(p.Name); ok {
			return p.With(After(p.Update, d))
		}
	case SubscriptionPatched:
		if d, ok := s.Subscriptions.Get(p.Name); ok {
			return SubscriptionUpdated{After(p.Update, d), d, p.Changes.Names()}
		}
	}
	return e
}

// With returns the update as the event that it was in version 1; d is the device after it.
func (e DevicePatched) With(d Device) Event { return DeviceUpdated{d, e.Changes.Names()} }

// With returns the update as the event that it was in version 1; p is the profile after it.
func (e ProfilePatched) With(p Profile) Event { return ProfileUpdated{p, e.Changes.Names()} }

// With returns the update as the event that it was in version 1; d is the service after it.
func (e ServicePatched) With(d DeviceService) Event { return ServiceUpdated{d, e.Changes.Names()} }

// With returns the update as the event that it was in version 1; w is the watcher after it.
func (e WatcherPatched) With(w ProvisionWatcher) Event { return WatcherUpdated{w, e.Changes.Names()} }

// With returns the update as the event that it was in version 2; s is the subscription after it.
func (e SubscriptionPatched) With(s Subscription) Event {
	return SubscriptionUpdated{s, Before(e.Update, s), e.Changes.Names()}
}
