package projections

import (
	"encoding/binary"
	"math"

	"ledge/domain"
	"ledge/projections/fold"
)

// The indexes. The ids are part of the schema. The first of each table lists all of its entities, and its order is
// that of the others, save those called created or written.
//
// EdgeX 2.3 keeps a set of ids, scored with the modified time, for each label, service, profile, manufacturer, model,
// category and receiver, and answers from the highest score: its recorded answers for those lists and for all services
// and provision watchers are newest first by modified. The lists of all devices and all profiles it keeps without a
// score, and answers by descending id, which, with ids made at random, is not an order that a client can rest on: here
// they are newest first like the rest. Readings it sorts by origin. Transmissions have no modified time.
var (
	profileIndexes = []fold.Index[domain.Profile]{
		{ID: 0x40, At: func(p domain.Profile) int64 { return p.Modified }},
		{ID: 0x41, Name: domain.IndexLabel, Values: func(dst []string, p domain.Profile) []string { return append(dst, p.Labels...) }},
		{ID: 0x42, Name: domain.IndexManufacturer, Values: func(dst []string, p domain.Profile) []string { return one(dst, p.Manufacturer) }},
		{ID: 0x43, Name: domain.IndexModel, Values: func(dst []string, p domain.Profile) []string { return one(dst, p.Model) }},
	}
	serviceIndexes = []fold.Index[domain.DeviceService]{
		{ID: 0x48, At: func(s domain.DeviceService) int64 { return s.Modified }},
		{ID: 0x49, Name: domain.IndexLabel, Values: func(dst []string, s domain.DeviceService) []string { return append(dst, s.Labels...) }},
	}
	deviceIndexes = []fold.Index[domain.Device]{
		{ID: 0x50, At: func(d domain.Device) int64 { return d.Modified }},
		{ID: 0x51, Name: domain.IndexLabel, Values: func(dst []string, d domain.Device) []string { return append(dst, d.Labels...) }},
		{ID: 0x52, Name: domain.IndexProfile, Values: func(dst []string, d domain.Device) []string { return one(dst, d.ProfileName) }},
		{ID: 0x53, Name: domain.IndexService, Values: func(dst []string, d domain.Device) []string { return one(dst, d.ServiceName) }},
		{ID: 0x54, Name: domain.IndexState, Values: domain.Troubled},
	}
	watcherIndexes = []fold.Index[domain.ProvisionWatcher]{
		{ID: 0x78, At: func(w domain.ProvisionWatcher) int64 { return w.Modified }},
		{ID: 0x79, Name: domain.IndexLabel, Values: func(dst []string, w domain.ProvisionWatcher) []string { return append(dst, w.Labels...) }},
		{ID: 0x7a, Name: domain.IndexProfile, Values: func(dst []string, w domain.ProvisionWatcher) []string { return one(dst, w.ProfileName) }},
		{ID: 0x7b, Name: domain.IndexService, Values: func(dst []string, w domain.ProvisionWatcher) []string { return one(dst, w.ServiceName) }},
	}
	userIndexes  = []fold.Index[domain.User]{{ID: 0x88, At: func(u domain.User) int64 { return u.Modified }}}
	tokenIndexes = []fold.Index[domain.Token]{{ID: 0x8c, At: func(t domain.Token) int64 { return t.Created }}}

	subscriptionIndexes = []fold.Index[domain.Subscription]{
		{ID: 0x58, At: func(s domain.Subscription) int64 { return s.Modified }},
		{ID: 0x59, Name: domain.IndexLabel, Values: func(dst []string, s domain.Subscription) []string { return append(dst, s.Labels...) }},
		{ID: 0x5a, Name: domain.IndexCategory, Values: func(dst []string, s domain.Subscription) []string { return append(dst, s.Categories...) }},
		{ID: 0x5b, Name: domain.IndexReceiver, Values: func(dst []string, s domain.Subscription) []string { return one(dst, s.Receiver) }},
	}
	notificationIndexes = []fold.Index[domain.Notification]{
		{ID: 0x60, At: func(n domain.Notification) int64 { return n.Modified }},
		{ID: 0x61, Name: domain.IndexLabel, Values: func(dst []string, n domain.Notification) []string { return append(dst, n.Labels...) }},
		{ID: 0x62, Name: domain.IndexCategory, Values: func(dst []string, n domain.Notification) []string { return one(dst, n.Category) }},
		{ID: 0x63, Name: domain.IndexStatus, Values: func(dst []string, n domain.Notification) []string { return one(dst, n.Status) }},
		{ID: 0x64, Name: domain.IndexSubscription, Values: func(dst []string, n domain.Notification) []string { return append(dst, n.Matched...) }},
		{ID: 0x65, Name: fold.Created, At: func(n domain.Notification) int64 { return n.Created }},
		{ID: 0x66, Name: fold.Written, At: func(domain.Notification) int64 { return 0 }},
		{ID: 0x67, Name: domain.IndexAcknowledged, Values: acknowledged},
		{ID: 0x6e, Name: domain.IndexAttention, Values: domain.Attention},
	}
	transmissionIndexes = []fold.Index[domain.Transmission]{
		{ID: 0x68, At: func(t domain.Transmission) int64 { return t.Created }},
		{ID: 0x69, Name: domain.IndexStatus, Values: func(dst []string, t domain.Transmission) []string { return one(dst, t.Status) }},
		{ID: 0x6a, Name: domain.IndexSubscription, Values: func(dst []string, t domain.Transmission) []string { return one(dst, t.SubscriptionName) }},
		{ID: 0x6b, Name: domain.IndexNotification, Values: func(dst []string, t domain.Transmission) []string { return one(dst, t.NotificationID) }},
		{ID: 0x6c, Name: fold.Written, At: func(domain.Transmission) int64 { return 0 }},
		{ID: 0x6d, Name: domain.IndexEndpoint, Values: openAt},
	}
	cleanupIndexes = []fold.Index[domain.Cleanup]{
		{ID: 0x7c, At: func(c domain.Cleanup) int64 { return c.Until }},
		{ID: 0x7d, Name: fold.Written, At: func(domain.Cleanup) int64 { return 0 }},
	}
	readingIndexes = []fold.Index[domain.Reading]{
		{ID: 0x70, At: func(r domain.Reading) int64 { return r.Origin }},
		{ID: 0x71, Name: domain.IndexDevice, Values: func(dst []string, r domain.Reading) []string { return one(dst, r.Device) }},
		{ID: 0x72, Name: domain.IndexResource, Values: func(dst []string, r domain.Reading) []string { return one(dst, r.Resource) }},
		{ID: 0x74, Name: domain.IndexDeviceResource, Values: func(dst []string, r domain.Reading) []string {
			return append(dst, domain.DeviceResourceKey(r.Device, r.Resource))
		}, Note: appendNumber},
		{ID: 0x75, Name: domain.IndexDigest, Values: func(dst []string, r domain.Reading) []string { return one(dst, r.Digest) }},
	}
	dataEventIndexes = []fold.Index[domain.DataEvent]{
		{ID: 0x80, At: func(e domain.DataEvent) int64 { return e.Origin }},
		{ID: 0x81, Name: domain.IndexDevice, Values: func(dst []string, e domain.DataEvent) []string { return one(dst, e.Device) }},
		{ID: 0x82, Name: domain.IndexSource, Values: func(dst []string, e domain.DataEvent) []string {
			return append(dst, domain.SourceKey(e.Profile, e.Device, e.Source))
		}},
		{ID: 0x83, Name: fold.Written, At: func(domain.DataEvent) int64 { return 0 }},
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

// appendNumber appends the number that a reading's value is, if it is one, in 8 bytes (IEEE 754), so that the numbers of a resource are
// read without a look at the rows.
func appendNumber(dst []byte, r domain.Reading) []byte {
	n, ok := r.Number()
	if !ok {
		return dst
	}
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(n))
}

// numberIn returns the number that appendNumber has appended, NaN if there is none.
func numberIn(note []byte) float64 {
	if len(note) != 8 {
		return math.NaN()
	}
	return math.Float64frombits(binary.BigEndian.Uint64(note))
}

// one appends a value that may be absent: nothing is found by the empty value.
func one(dst []string, value string) []string {
	if value == "" {
		return dst
	}
	return append(dst, value)
}
