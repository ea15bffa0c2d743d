package handlerstest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"ledge/domain"
)

// lists scans and sorts: the slow and simple account of what domain.Lists promises. A test holds it to the lists of
// projections, which may not be used here.
type lists struct {
	state domain.State
	seq   *uint64 // of the last event
}

// table is a map that knows which event has put an entry.
type table[S any] struct {
	domain.MapTable[S]
	seq   *uint64 // of the event that is being folded
	turns map[string]uint64
}

func newTable[S any](seq *uint64) *table[S] {
	return &table[S]{MapTable: domain.MapTable[S]{}, seq: seq, turns: map[string]uint64{}}
}

// Put implements domain.Table.
func (t *table[S]) Put(key string, s S) {
	t.MapTable.Put(key, s)
	t.turns[key] = *t.seq
}

// Delete implements domain.Table.
func (t *table[S]) Delete(key string) {
	t.MapTable.Delete(key)
	delete(t.turns, key)
}

// Revision implements domain.Revised.
func (t *table[S]) Revision(key string) uint64 { return t.turns[key] }

// newState returns an empty state that can be listed. seq holds the sequence of the event that is being folded.
func newState(seq *uint64) domain.State {
	s := domain.NewMapState()
	s.Profiles, s.Services = newTable[domain.Profile](seq), newTable[domain.DeviceService](seq)
	s.Devices, s.Subscriptions = newTable[domain.Device](seq), newTable[domain.Subscription](seq)
	s.Watchers, s.Notifications = newTable[domain.ProvisionWatcher](seq), newTable[domain.Notification](seq)
	s.Users, s.Tokens = newTable[domain.User](seq), newTable[domain.Token](seq)
	s.Transmissions = newTable[domain.Transmission](seq)
	s.DataEvents, s.Readings = newTable[domain.DataEvent](seq), newTable[domain.Reading](seq)
	return s
}

// entry is what an entity is sorted and found by.
type entry struct {
	modified int64
	indexes  map[string][]string
	created  int64 // where it can be found by that
}

// Keys implements domain.Lists.
func (l lists) Keys(list string, p domain.Page, fs ...domain.Filter) (keys []string, total int, err error) {
	switch list {
	case domain.ListProfiles:
		return keysOf(l.Profiles(p, fs...))(func(d domain.Profile) string { return d.Name })
	case domain.ListServices:
		return keysOf(l.Services(p, fs...))(func(d domain.DeviceService) string { return d.Name })
	case domain.ListDevices:
		return keysOf(l.Devices(p, fs...))(func(d domain.Device) string { return d.Name })
	case domain.ListWatchers:
		return keysOf(l.Watchers(p, fs...))(func(d domain.ProvisionWatcher) string { return d.Name })
	case domain.ListSubscriptions:
		return keysOf(l.Subscriptions(p, fs...))(func(d domain.Subscription) string { return d.Name })
	case domain.ListUsers:
		return keysOf(l.Users(p, fs...))(func(d domain.User) string { return d.Name })
	case domain.ListTokens:
		return keysOf(l.Tokens(p, fs...))(func(d domain.Token) string { return d.Name })
	case domain.ListNotifications:
		return keysOf(l.Notifications(p, fs...))(func(d domain.Notification) string { return d.ID })
	case domain.ListTransmissions:
		return keysOf(l.Transmissions(p, fs...))(func(d domain.Transmission) string { return d.ID })
	case domain.ListDataEvents:
		return keysOf(l.DataEvents(p, fs...))(func(d domain.DataEvent) string { return d.ID })
	case domain.ListReadings:
		return keysOf(l.Readings(p, fs...))(func(d domain.Reading) string { return d.ID })
	}
	return nil, 0, fmt.Errorf("there is no list %q", list)
}

// Checkpoint implements domain.Lists.
func (l lists) Checkpoint() (seq uint64, chain [32]byte) { return *l.seq, chain }

// KeysAsOf implements domain.Lists: it lists a state with the entities of then.
func (l lists) KeysAsOf(list string, past domain.Past, p domain.Page, filters ...domain.Filter) (keys []string, total int, err error) {
	at := new(uint64)
	then := newState(at)
	switch list {
	case domain.ListProfiles:
		err = goBack(l.state.Profiles, then.Profiles, at, past)
	case domain.ListServices:
		err = goBack(l.state.Services, then.Services, at, past)
	case domain.ListDevices:
		err = goBack(l.state.Devices, then.Devices, at, past)
	case domain.ListWatchers:
		err = goBack(l.state.Watchers, then.Watchers, at, past)
	case domain.ListSubscriptions:
		err = goBack(l.state.Subscriptions, then.Subscriptions, at, past)
	default:
		err = fmt.Errorf("list %s has no past", list)
	}
	if err != nil {
		return nil, 0, err
	}
	return lists{then, at}.Keys(list, p, filters...)
}

// goBack puts the entities of the past.
func goBack[S any](now, then domain.Table[S], at *uint64, past domain.Past) error {
	t := now.(*table[S])
	for key, entity := range t.MapTable {
		if *at = t.turns[key]; *at <= past.Seq {
			then.Put(key, entity)
		}
	}
	for f := range past.Former {
		one, err := f.Entity()
		if err != nil {
			return err
		}
		entity, ok := one.(S)
		if !ok {
			return fmt.Errorf("%q: an entity of type %T", f.Key, one)
		}
		*at = f.Revision
		then.Put(f.Key, entity)
	}
	return nil
}

func keysOf[S any](list []S, total int, err error) func(key func(S) string) ([]string, int, error) {
	return func(key func(S) string) ([]string, int, error) {
		keys := make([]string, len(list))
		for i, s := range list {
			keys[i] = key(s)
		}
		return keys, total, err
	}
}

func (l lists) Profiles(p domain.Page, fs ...domain.Filter) ([]domain.Profile, int, error) {
	return page("profiles", l.state.Profiles, p, fs, func(d domain.Profile) entry {
		return entry{modified: d.Modified, indexes: map[string][]string{
			domain.IndexLabel: d.Labels, domain.IndexManufacturer: {d.Manufacturer}, domain.IndexModel: {d.Model},
		}}
	})
}

func (l lists) Services(p domain.Page, fs ...domain.Filter) ([]domain.DeviceService, int, error) {
	return page("services", l.state.Services, p, fs, func(d domain.DeviceService) entry {
		return entry{modified: d.Modified, indexes: map[string][]string{domain.IndexLabel: d.Labels}}
	})
}

func (l lists) Devices(p domain.Page, fs ...domain.Filter) ([]domain.Device, int, error) {
	return page("devices", l.state.Devices, p, fs, func(d domain.Device) entry {
		return entry{modified: d.Modified, indexes: map[string][]string{
			domain.IndexLabel: d.Labels, domain.IndexProfile: {d.ProfileName}, domain.IndexService: {d.ServiceName},
			domain.IndexState: domain.Troubled(nil, d),
		}}
	})
}

func (l lists) Watchers(p domain.Page, fs ...domain.Filter) ([]domain.ProvisionWatcher, int, error) {
	return page("watchers", l.state.Watchers, p, fs, func(d domain.ProvisionWatcher) entry {
		return entry{modified: d.Modified, indexes: map[string][]string{
			domain.IndexLabel: d.Labels, domain.IndexProfile: {d.ProfileName}, domain.IndexService: {d.ServiceName},
		}}
	})
}

func (l lists) Subscriptions(p domain.Page, fs ...domain.Filter) ([]domain.Subscription, int, error) {
	return page("subscriptions", l.state.Subscriptions, p, fs, func(d domain.Subscription) entry {
		return entry{modified: d.Modified, indexes: map[string][]string{
			domain.IndexLabel: d.Labels, domain.IndexCategory: d.Categories, domain.IndexReceiver: {d.Receiver},
		}}
	})
}

func (l lists) Users(p domain.Page, fs ...domain.Filter) ([]domain.User, int, error) {
	return page("users", l.state.Users, p, fs, func(d domain.User) entry { return entry{modified: d.Modified} })
}

func (l lists) Tokens(p domain.Page, fs ...domain.Filter) ([]domain.Token, int, error) {
	return page("tokens", l.state.Tokens, p, fs, func(d domain.Token) entry { return entry{modified: d.Created} })
}

func (l lists) Notifications(p domain.Page, fs ...domain.Filter) ([]domain.Notification, int, error) {
	return page("notifications", l.state.Notifications, p, fs, func(d domain.Notification) entry {
		acknowledged := []string{}
		if d.Acknowledged {
			acknowledged = append(acknowledged, domain.Acknowledged)
		}
		return entry{d.Modified, map[string][]string{
			domain.IndexLabel: d.Labels, domain.IndexCategory: {d.Category}, domain.IndexStatus: {d.Status},
			domain.IndexSubscription: d.Matched, domain.IndexAcknowledged: acknowledged, domain.IndexTime: nil,
			domain.IndexAttention: domain.Attention(nil, d),
		}, d.Created}
	})
}

func (l lists) Transmissions(p domain.Page, fs ...domain.Filter) ([]domain.Transmission, int, error) {
	return page("transmissions", l.state.Transmissions, p, fs, func(d domain.Transmission) entry {
		return entry{d.Created, map[string][]string{
			domain.IndexStatus: {d.Status}, domain.IndexSubscription: {d.SubscriptionName},
			domain.IndexNotification: {d.NotificationID}, domain.IndexTime: nil,
		}, d.Created}
	})
}

func (l lists) DataEvents(p domain.Page, fs ...domain.Filter) ([]domain.DataEvent, int, error) {
	return page("data events", l.state.DataEvents, p, fs, func(d domain.DataEvent) entry {
		return entry{d.Origin, map[string][]string{
			domain.IndexDevice: {d.Device}, domain.IndexSource: {domain.SourceKey(d.Profile, d.Device, d.Source)}, domain.IndexTime: nil,
		}, d.Origin}
	})
}

func (l lists) Readings(p domain.Page, fs ...domain.Filter) ([]domain.Reading, int, error) {
	return page("readings", l.state.Readings, p, fs, func(d domain.Reading) entry {
		return entry{d.Origin, map[string][]string{
			domain.IndexDevice: {d.Device}, domain.IndexResource: {d.Resource}, domain.IndexDigest: {d.Digest},
			domain.IndexDeviceResource: {domain.DeviceResourceKey(d.Device, d.Resource)}, domain.IndexTime: nil,
		}, d.Origin}
	})
}

func (l lists) Origins(device string, apart time.Duration, most int) (times []int64, err error) {
	all, _, err := l.DataEvents(domain.Page{Limit: -1}, domain.Filter{Index: domain.IndexDevice, Value: device})
	for _, e := range all {
		if n := len(times); n < most && (n == 0 || e.Origin <= times[n-1]-int64(apart)) {
			times = append(times, e.Origin)
		}
	}
	return times, err
}

func (l lists) Numbers(s domain.Series, after string, most int, f func(int64, float64)) (next string, err error) {
	all, _, err := l.Readings(domain.Page{Limit: -1}, s.Filters()...)
	slices.Reverse(all) // oldest first
	from := 0
	if after != "" {
		from = 1 + slices.IndexFunc(all, func(r domain.Reading) bool { return r.ID == after })
	}
	for _, r := range all[from:] {
		n, ok := r.Number()
		if !ok {
			n = math.NaN()
		}
		f(r.Origin, n)
		if most--; most <= 0 {
			return r.ID, err
		}
	}
	return "", err
}

func (l lists) TransmissionIDs(notification string) (ids []string, _ error) {
	for id, t := range l.state.Transmissions.(*table[domain.Transmission]).MapTable {
		if t.NotificationID == notification {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// page lists what the filters keep, newest first: by the modified time, then what was put later.
func page[S any](kind string, of domain.Table[S], p domain.Page, fs []domain.Filter, entryOf func(S) entry) ([]S, int, error) {
	t := of.(*table[S])
	var none S
	at := func(key string) int64 { return entryOf(t.MapTable[key]).modified }
	for _, f := range fs {
		if _, ok := entryOf(none).indexes[f.Index]; !ok {
			return nil, 0, fmt.Errorf("list %s: there is no index %q", kind, f.Index)
		}
		if f.Index == domain.IndexTime {
			at = func(key string) int64 { return entryOf(t.MapTable[key]).created }
		}
	}
	var keys []string
	for key, s := range t.MapTable {
		if entryOf(s).passes(fs) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(at(b), at(a)), cmp.Compare(t.turns[b], t.turns[a]), cmp.Compare(b, a))
	})
	total := len(keys)
	keys, err := cut(keys, p)
	list := make([]S, len(keys))
	for i, key := range keys {
		list[i] = t.MapTable[key]
	}
	return list, total, err
}

// passes reports whether all filters keep the entry. Nothing is found by the empty value.
func (e entry) passes(fs []domain.Filter) bool {
	for _, f := range fs {
		if e.has(f) == f.Without {
			return false
		}
	}
	return true
}

func (e entry) has(f domain.Filter) bool {
	if f.Index == domain.IndexTime {
		return f.From <= e.created && e.created <= f.To
	}
	values := f.Any
	if len(values) == 0 {
		values = []string{f.Value}
	}
	return slices.ContainsFunc(values, func(v string) bool { return v != "" && slices.Contains(e.indexes[f.Index], v) }) ||
		slices.ContainsFunc(f.Or, e.has)
}

// cut returns a page. An offset above the total is refused, but not where nothing is asked for.
func cut(keys []string, p domain.Page) ([]string, error) {
	n := len(keys)
	if p.Limit != 0 && p.Offset > n {
		return nil, domain.Errorf(domain.OutOfRange, "query objects bounds out of range. length:%d", n)
	}
	from := min(max(p.Offset, 0), n)
	if p.Limit < 0 {
		return keys[from:], nil
	}
	return keys[from:min(n, from+p.Limit)], nil
}
