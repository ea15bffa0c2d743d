package projections

import (
	"slices"

	"ledge/domain"
)

// index is one order of a table's entities: for each value that an entity has, an entry at the entity's time. The
// entries with one value are neighbours, oldest first, so that a page is a walk of a cursor from either end.
type index[S any] struct {
	id   byte
	name string
	// values appends what the entity is found by; nil: the list of all.
	values func(dst []string, s S) []string
	// at is the time that the entries are sorted by.
	at func(s S) int64
}

const (
	all     = "" // the index of every entity, by the time that lists are sorted by
	created = "created"
	written = "written" // the index of every entity, by the event that put it: see Forget
)

// The indexes. The ids are part of the schema. The first of each table lists all of its entities, and its order is
// that of the others, save those that are called created or written.
//
// EdgeX 2.3 keeps a set of ids, scored with the modified time, for each label, service, profile, manufacturer, model,
// category and receiver, and answers from the highest score: its recorded answers for those lists and for all services
// and provision watchers are newest first by modified. The lists of all devices and all profiles it keeps without a
// score, and answers by descending id, which, with ids made at random, is no order that a client can rest on: here
// they are newest first like the rest. Readings it sorts by origin. Transmissions have no modified time.
var (
	profileIndexes = []index[domain.Profile]{
		{0x40, all, nil, func(p domain.Profile) int64 { return p.Modified }},
		{0x41, domain.IndexLabel, func(dst []string, p domain.Profile) []string { return append(dst, p.Labels...) }, nil},
		{0x42, domain.IndexManufacturer, func(dst []string, p domain.Profile) []string { return one(dst, p.Manufacturer) }, nil},
		{0x43, domain.IndexModel, func(dst []string, p domain.Profile) []string { return one(dst, p.Model) }, nil},
	}
	serviceIndexes = []index[domain.DeviceService]{
		{0x48, all, nil, func(s domain.DeviceService) int64 { return s.Modified }},
		{0x49, domain.IndexLabel, func(dst []string, s domain.DeviceService) []string { return append(dst, s.Labels...) }, nil},
	}
	deviceIndexes = []index[domain.Device]{
		{0x50, all, nil, func(d domain.Device) int64 { return d.Modified }},
		{0x51, domain.IndexLabel, func(dst []string, d domain.Device) []string { return append(dst, d.Labels...) }, nil},
		{0x52, domain.IndexProfile, func(dst []string, d domain.Device) []string { return one(dst, d.ProfileName) }, nil},
		{0x53, domain.IndexService, func(dst []string, d domain.Device) []string { return one(dst, d.ServiceName) }, nil},
	}
	watcherIndexes = []index[domain.ProvisionWatcher]{
		{0x78, all, nil, func(w domain.ProvisionWatcher) int64 { return w.Modified }},
		{0x79, domain.IndexLabel, func(dst []string, w domain.ProvisionWatcher) []string { return append(dst, w.Labels...) }, nil},
		{0x7a, domain.IndexProfile, func(dst []string, w domain.ProvisionWatcher) []string { return one(dst, w.ProfileName) }, nil},
		{0x7b, domain.IndexService, func(dst []string, w domain.ProvisionWatcher) []string { return one(dst, w.ServiceName) }, nil},
	}
	userIndexes  = []index[domain.User]{{0x88, all, nil, func(u domain.User) int64 { return u.Modified }}}
	tokenIndexes = []index[domain.Token]{{0x8c, all, nil, func(t domain.Token) int64 { return t.Created }}}

	subscriptionIndexes = []index[domain.Subscription]{
		{0x58, all, nil, func(s domain.Subscription) int64 { return s.Modified }},
		{0x59, domain.IndexLabel, func(dst []string, s domain.Subscription) []string { return append(dst, s.Labels...) }, nil},
		{0x5a, domain.IndexCategory, func(dst []string, s domain.Subscription) []string { return append(dst, s.Categories...) }, nil},
		{0x5b, domain.IndexReceiver, func(dst []string, s domain.Subscription) []string { return one(dst, s.Receiver) }, nil},
	}
	notificationIndexes = []index[domain.Notification]{
		{0x60, all, nil, func(n domain.Notification) int64 { return n.Modified }},
		{0x61, domain.IndexLabel, func(dst []string, n domain.Notification) []string { return append(dst, n.Labels...) }, nil},
		{0x62, domain.IndexCategory, func(dst []string, n domain.Notification) []string { return one(dst, n.Category) }, nil},
		{0x63, domain.IndexStatus, func(dst []string, n domain.Notification) []string { return one(dst, n.Status) }, nil},
		{0x64, domain.IndexSubscription, func(dst []string, n domain.Notification) []string { return append(dst, n.Matched...) }, nil},
		{0x65, created, nil, func(n domain.Notification) int64 { return n.Created }},
		{0x66, written, nil, func(domain.Notification) int64 { return 0 }},
		{0x67, domain.IndexAcknowledged, acknowledged, nil},
	}
	transmissionIndexes = []index[domain.Transmission]{
		{0x68, all, nil, func(t domain.Transmission) int64 { return t.Created }},
		{0x69, domain.IndexStatus, func(dst []string, t domain.Transmission) []string { return one(dst, t.Status) }, nil},
		{0x6a, domain.IndexSubscription, func(dst []string, t domain.Transmission) []string { return one(dst, t.SubscriptionName) }, nil},
		{0x6b, domain.IndexNotification, func(dst []string, t domain.Transmission) []string { return one(dst, t.NotificationID) }, nil},
		{0x6c, written, nil, func(domain.Transmission) int64 { return 0 }},
		{0x6d, domain.IndexEndpoint, openAt, nil},
	}
	cleanupIndexes = []index[domain.Cleanup]{
		{0x7c, all, nil, func(c domain.Cleanup) int64 { return c.Until }},
		{0x7d, written, nil, func(domain.Cleanup) int64 { return 0 }},
	}
	readingIndexes = []index[domain.Reading]{
		{0x70, all, nil, func(r domain.Reading) int64 { return r.Origin }},
		{0x71, domain.IndexDevice, func(dst []string, r domain.Reading) []string { return one(dst, r.Device) }, nil},
		{0x72, domain.IndexResource, func(dst []string, r domain.Reading) []string { return one(dst, r.Resource) }, nil},
		{0x74, domain.IndexDeviceResource, func(dst []string, r domain.Reading) []string {
			return append(dst, domain.DeviceResourceKey(r.Device, r.Resource))
		}, nil},
		{0x75, domain.IndexDigest, func(dst []string, r domain.Reading) []string { return one(dst, r.Digest) }, nil},
	}
	dataEventIndexes = []index[domain.DataEvent]{
		{0x80, all, nil, func(e domain.DataEvent) int64 { return e.Origin }},
		{0x81, domain.IndexDevice, func(dst []string, e domain.DataEvent) []string { return one(dst, e.Device) }, nil},
		{0x82, domain.IndexSource, func(dst []string, e domain.DataEvent) []string {
			return append(dst, domain.SourceKey(e.Profile, e.Device, e.Source))
		}, nil},
		{0x83, written, nil, func(domain.DataEvent) int64 { return 0 }},
	}
)

// openAt appends where a transmission goes that has no outcome yet.
func openAt(dst []string, t domain.Transmission) []string {
	if !t.IsOpen() {
		return dst
	}
	return append(dst, t.Channel.Target())
}

// acknowledged leaves out those that are not, which are nearly all; a Filter can ask for them with Without.
func acknowledged(dst []string, n domain.Notification) []string {
	if !n.Acknowledged {
		return dst
	}
	return append(dst, domain.Acknowledged)
}

// one appends a value that may be absent: nothing is found by the empty value.
func one(dst []string, value string) []string {
	if value == "" {
		return dst
	}
	return append(dst, value)
}

// of appends the values of s in the index, each once.
func (x *index[S]) of(dst []string, s S) []string {
	if x.values == nil {
		return append(dst, "")
	}
	from := len(dst)
	found := x.values(dst, s)
	dst = found[:from]
	for _, v := range found[from:] {
		if v != "" && !slices.Contains(dst[from:], v) {
			dst = append(dst, v)
		}
	}
	return dst
}
