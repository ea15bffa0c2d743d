package history

import (
	"context"
	"encoding/json"

	"ledge/domain"
	"ledge/domain/fastjson"
)

// kind is how a kind of entity is found in the state and in events.
type kind[T any] struct {
	name  string
	list  string // of domain.Lists
	codec fastjson.Codec[T]
	table func(domain.State) domain.Table[T]
	// read returns an event as the record of an entity; nil for an event of another kind.
	read func(domain.Event) *record[T]
}

// record is an event of an entity.
type record[T any] struct {
	verb   string // of the event
	name   string
	prev   uint64
	update *domain.Update // nil if the event has the whole entity
	entity T              // after the event; of a removal before it
	before *T             // of an update that has both
	fields []string       // that an update has changed
}

func wholeRecord[T any](verb, name string, prev uint64, entity T) *record[T] {
	return &record[T]{verb: verb, name: name, prev: prev, entity: entity}
}

func updateRecord[T any](name string, entity T, fields []string) *record[T] {
	return &record[T]{verb: Updated, name: name, entity: entity, fields: fields}
}

func patchRecord[T any](u domain.Update) *record[T] {
	return &record[T]{verb: Updated, name: u.Name, prev: u.Prev, update: &u, fields: u.Changes.Names()}
}

var devices = kind[domain.Device]{
	"device", domain.ListDevices, fastjson.Of[domain.Device](),
	func(s domain.State) domain.Table[domain.Device] { return s.Devices },
	func(e domain.Event) *record[domain.Device] {
		switch e := e.(type) {
		case domain.DeviceAdded:
			return wholeRecord(Added, e.Device.Name, e.Prev, e.Device)
		case domain.DevicePatched:
			return patchRecord[domain.Device](e.Update)
		case domain.DeviceUpdated:
			return updateRecord(e.Device.Name, e.Device, e.Changed)
		case domain.DeviceRemoved:
			return wholeRecord(Removed, e.Device.Name, e.Prev, e.Device)
		}
		return nil
	},
}

var profiles = kind[domain.Profile]{
	"profile", domain.ListProfiles, fastjson.Of[domain.Profile](),
	func(s domain.State) domain.Table[domain.Profile] { return s.Profiles },
	func(e domain.Event) *record[domain.Profile] {
		switch e := e.(type) {
		case domain.ProfileAdded:
			return wholeRecord(Added, e.Profile.Name, e.Prev, e.Profile)
		case domain.ProfilePatched:
			return patchRecord[domain.Profile](e.Update)
		case domain.ProfileUpdated:
			return updateRecord(e.Profile.Name, e.Profile, e.Changed)
		case domain.ProfileRemoved:
			return wholeRecord(Removed, e.Profile.Name, e.Prev, e.Profile)
		}
		return nil
	},
}

var services = kind[domain.DeviceService]{
	"service", domain.ListServices, fastjson.Of[domain.DeviceService](),
	func(s domain.State) domain.Table[domain.DeviceService] { return s.Services },
	func(e domain.Event) *record[domain.DeviceService] {
		switch e := e.(type) {
		case domain.ServiceAdded:
			return wholeRecord(Added, e.Service.Name, e.Prev, e.Service)
		case domain.ServicePatched:
			return patchRecord[domain.DeviceService](e.Update)
		case domain.ServiceUpdated:
			return updateRecord(e.Service.Name, e.Service, e.Changed)
		case domain.ServiceRemoved:
			return wholeRecord(Removed, e.Service.Name, e.Prev, e.Service)
		}
		return nil
	},
}

var watchers = kind[domain.ProvisionWatcher]{
	"watcher", domain.ListWatchers, fastjson.Of[domain.ProvisionWatcher](),
	func(s domain.State) domain.Table[domain.ProvisionWatcher] { return s.Watchers },
	func(e domain.Event) *record[domain.ProvisionWatcher] {
		switch e := e.(type) {
		case domain.WatcherAdded:
			return wholeRecord(Added, e.Watcher.Name, e.Prev, e.Watcher)
		case domain.WatcherPatched:
			return patchRecord[domain.ProvisionWatcher](e.Update)
		case domain.WatcherUpdated:
			return updateRecord(e.Watcher.Name, e.Watcher, e.Changed)
		case domain.WatcherRemoved:
			return wholeRecord(Removed, e.Watcher.Name, e.Prev, e.Watcher)
		}
		return nil
	},
}

var subscriptions = kind[domain.Subscription]{
	"subscription", domain.ListSubscriptions, fastjson.Of[domain.Subscription](),
	func(s domain.State) domain.Table[domain.Subscription] { return s.Subscriptions },
	func(e domain.Event) *record[domain.Subscription] {
		switch e := e.(type) {
		case domain.SubscriptionAdded:
			return wholeRecord(Added, e.Subscription.Name, e.Prev, e.Subscription)
		case domain.SubscriptionPatched:
			return patchRecord[domain.Subscription](e.Update)
		case domain.SubscriptionUpdated:
			r := updateRecord(e.Subscription.Name, e.Subscription, e.Changed)
			r.before = &e.Before
			return r
		case domain.SubscriptionRemoved:
			return wholeRecord(Removed, e.Subscription.Name, e.Prev, e.Subscription)
		}
		return nil
	},
}

// users and tokens have no ids of hashes in their history.
var users = kind[domain.User]{
	"user", domain.ListUsers, fastjson.Of[domain.User](),
	func(s domain.State) domain.Table[domain.User] { return s.Users },
	func(e domain.Event) *record[domain.User] {
		switch e := e.(type) {
		case domain.UserAdded:
			e.User.Credential = ""
			return wholeRecord(Added, e.User.Name, e.Prev, e.User)
		case domain.UserUpdated:
			role := difference{"role", e.Was, e.Role}
			return changeRecord[domain.User](Updated, e.Name, e.Prev, e.Modified, role)
		case domain.UserPassword:
			must := difference{"mustChange", nil, e.MustChange}
			return changeRecord[domain.User]("password", e.Name, e.Prev, e.Modified, must)
		case domain.UserRemoved:
			e.User.Credential = ""
			return wholeRecord(Removed, e.User.Name, e.Prev, e.User)
		}
		return nil
	},
}

var tokens = kind[domain.Token]{
	"token", domain.ListTokens, fastjson.Of[domain.Token](),
	func(s domain.State) domain.Table[domain.Token] { return s.Tokens },
	func(e domain.Event) *record[domain.Token] {
		switch e := e.(type) {
		case domain.TokenAdded:
			e.Token.Credential, e.Token.Old = "", ""
			return wholeRecord(Added, e.Token.Name, e.Prev, e.Token)
		case domain.TokenRotated:
			until := difference{"oldUntil", nil, e.OldUntil}
			return changeRecord[domain.Token]("rotated", e.Name, e.Prev, 0, until)
		case domain.TokenRemoved:
			e.Token.Credential, e.Token.Old = "", ""
			return wholeRecord(Removed, e.Token.Name, e.Prev, e.Token)
		}
		return nil
	},
}

// difference is a field before and after an event; nil for a value that the event does not have.
type difference struct {
	field   string
	was, is any
}

// changeRecord returns the record of an event that has one field of the entity.
func changeRecord[T any](verb, name string, prev uint64, modified int64, d difference) *record[T] {
	var values domain.Difference
	values.Is, _ = json.Marshal(d.is) // texts, numbers and truth values can be encoded
	if d.was != nil {
		values.Was, _ = json.Marshal(d.was)
	}
	r := patchRecord[T](domain.Update{Name: name, Prev: prev, Modified: modified, Changes: domain.Changes{d.field: values}})
	r.verb = verb
	return r
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

// jsonSize returns the bytes of JSON of an entity. An entity that cannot be encoded counts as mostKnown.
func jsonSize(entity any) int {
	text, err := json.Marshal(entity)
	if err != nil {
		return mostKnown
	}
	return len(text)
}
