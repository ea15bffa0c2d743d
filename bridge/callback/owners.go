package callback

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"unique"

	"ledge/domain"
)

// owner is whose a device or a provision watcher is; the zero owner is nobody that is called.
type owner struct{ service, profile unique.Handle[string] }

// owners is the fold of the service and the profile of each device and provision watcher. It has those of the device services that are
// called. An event names only the service and the profile that a device has after it; the ones before are here.
type owners struct {
	elsewhere atomic.Bool               // device-rest is another program
	of        map[string]owner          // by "device/<name>" and "watcher/<name>"
	users     map[string]map[string]int // the devices of each service with a profile, by profile and service
}

// entity is the device or provision watcher that an event leaves behind, or takes away.
type entity struct {
	key, service, profile string
	gone                  bool
	changed               []string // of an update
}

func entityOf(e domain.Event) (x entity, ok bool) {
	device := func(d domain.Device, gone bool, changed []string) entity {
		return entity{"device/" + d.Name, d.ServiceName, d.ProfileName, gone, changed}
	}
	watcher := func(w domain.ProvisionWatcher, gone bool, changed []string) entity {
		return entity{"watcher/" + w.Name, w.ServiceName, "", gone, changed}
	}
	switch e := e.(type) {
	case domain.DeviceAdded:
		x = device(e.Device, false, nil)
	case domain.DeviceUpdated:
		x = device(e.Device, false, e.Changed)
	case domain.DeviceRemoved:
		x = device(e.Device, true, nil)
	case domain.WatcherAdded:
		x = watcher(e.Watcher, false, nil)
	case domain.WatcherUpdated:
		x = watcher(e.Watcher, false, e.Changed)
	case domain.WatcherRemoved:
		x = watcher(e.Watcher, true, nil)
	}
	return x, x.key != ""
}

// isCalled reports whether device services of a name are called.
func (o *owners) isCalled(service string) bool {
	return service != domain.DeviceREST || o.elsewhere.Load()
}

// ownerOf returns the owner of an entity after its event; the zero owner if the entity is gone or its service is not called.
func (o *owners) ownerOf(x entity) owner {
	if x.gone || !o.isCalled(x.service) {
		return owner{}
	}
	return owner{unique.Make(x.service), unique.Make(x.profile)}
}

// put says whose something is; the zero owner: nobody's.
func (o *owners) put(key string, now owner) {
	if before, ok := o.of[key]; ok {
		o.count(before, -1)
		delete(o.of, key)
	}
	if now != (owner{}) {
		o.of[key] = now
		o.count(now, +1)
	}
}

func (o *owners) count(w owner, by int) {
	profile, service := w.profile.Value(), w.service.Value()
	if profile == "" {
		return // a provision watcher: EdgeX 2.3 tells only the services of devices of a profile's change
	}
	if o.users[profile] == nil {
		o.users[profile] = map[string]int{}
	}
	if o.users[profile][service] += by; o.users[profile][service] == 0 {
		delete(o.users[profile], service)
	}
	if len(o.users[profile]) == 0 {
		delete(o.users, profile)
	}
}

// step folds one event and returns the services that are called because of it, the one that loses a device first.
func (o *owners) step(e domain.Event) (services []string) {
	if x, ok := entityOf(e); ok {
		if before, ok := o.of[x.key]; ok && before.service.Value() != x.service {
			services = append(services, before.service.Value())
		}
		if o.isCalled(x.service) && !domain.OnlyReported(x.changed) {
			services = append(services, x.service)
		}
		o.put(x.key, o.ownerOf(x))
		return services
	}
	switch e := e.(type) {
	case domain.ProfileUpdated:
		return o.usersOf(e.Profile.Name)
	case domain.ProfilePatched:
		return o.usersOf(e.Name)
	case domain.ServiceUpdated:
		// The times alone are not news: the service has reported them. EdgeX 2.3 leaves out lastConnected.
		if o.isCalled(e.Service.Name) && !domain.OnlyReported(e.Changed) {
			services = []string{e.Service.Name}
		}
	}
	return services
}

// leave forgets the devices and provision watchers of a service.
func (o *owners) leave(service string) {
	for key, w := range o.of {
		if w.service.Value() == service {
			o.put(key, owner{})
		}
	}
}

// usersOf returns the services with devices or provision watchers of a profile.
func (o *owners) usersOf(profile string) []string {
	return slices.Sorted(maps.Keys(o.users[profile]))
}

// load notes the devices and provision watchers of a service.
func (o *owners) load(lists domain.Lists, service string) error {
	mine := domain.Filter{Index: domain.IndexService, Value: service}
	watchers, _, err := lists.Watchers(domain.Page{Limit: -1}, mine)
	for _, w := range watchers {
		o.step(domain.WatcherAdded{Watcher: w})
	}
	const page = 1000
	for offset, total := 0, 1; err == nil && offset < total; offset += page {
		var devices []domain.Device
		devices, total, err = lists.Devices(domain.Page{Offset: offset, Limit: page}, mine)
		for _, d := range devices {
			o.step(domain.DeviceAdded{Device: d})
		}
	}
	return err
}

// rewind takes the fold back from the sequence to to the sequence from. The first event of a device after from tells whose it was at from,
// unless it is the one that moved it; then the part of the stream before does, which is read for that alone.
func (o *owners) rewind(ctx context.Context, history History, from, to uint64) error {
	if from >= to {
		return nil
	}
	first, moved := map[string]entity{}, false
	err := history(ctx, from+1, to, func(r domain.Recorded) error {
		x, ok := entityOf(r.Event)
		_, seen := first[x.key]
		_, owned := o.of[x.key]
		if ok && !seen && (owned || x.moves() || o.isCalled(x.service)) {
			first[x.key] = x
			moved = moved || x.moves()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, x := range first {
		o.put(key, o.before(x))
	}
	if !moved {
		return nil
	}
	return history(ctx, 1, from, func(r domain.Recorded) error {
		if x, ok := entityOf(r.Event); ok && first[x.key].moves() {
			o.put(x.key, o.ownerOf(x))
		}
		return nil
	})
}

// moves reports whether the event gave the entity to another service or profile.
func (x entity) moves() bool {
	return slices.Contains(x.changed, "serviceName") || slices.Contains(x.changed, "profileName")
}

// before is the owner before the event, nobody if that is not known.
func (o *owners) before(x entity) owner {
	if x.moves() || !x.gone && x.changed == nil { // it was added
		return owner{}
	}
	x.gone = false
	return o.ownerOf(x)
}
