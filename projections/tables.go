package projections

import (
	"slices"

	"ledge/domain"
	"ledge/projections/fold"
)

// Tables says which stream's state a file holds.
type Tables int

// The streams; each has a file of its own, which is rebuilt independently of the others. All have answers.
const (
	Events        Tables = iota // profiles, services, devices, watchers, subscriptions, users, tokens, ids, uses, gone, seeds
	Notifications               // notifications, transmissions, cleanups, cursors
	Readings                    // events of core-data, readings, cleanups
)

func (t Tables) String() string {
	return [...]string{"events", "notifications", "readings"}[t]
}

// The ids of the tables. They are part of the schema: with a change of one, all files are folded again.
const (
	usesID          byte = 0x02
	seedsID         byte = 0x03
	cursorsID       byte = 0x04
	profilesID      byte = 0x05
	servicesID      byte = 0x06
	subscriptionsID byte = 0x07
	devicesID       byte = 0x08
	notificationsID byte = 0x09
	transmissionsID byte = 0x0a
	readingsID      byte = 0x0b
	idsID           byte = 0x0c
	watchersID      byte = 0x0d
	answersID       byte = 0x0e
	answerOrderID   byte = 0x0f
	cleanupsID      byte = 0x10
	dataEventsID    byte = 0x11
	usersID         byte = 0x12
	tokensID        byte = 0x13
	goneID          byte = 0x15
)

var (
	uses    = &fold.Table[int]{ID: usesID, Name: "uses", Codec: inCount}
	seeds   = &fold.Table[bool]{ID: seedsID, Name: "seeds", Codec: inFlag}
	cursors = &fold.Table[uint64]{ID: cursorsID, Name: "cursors", Codec: inNumber}
	ids     = &fold.Table[string]{ID: idsID, Name: "ids", Codec: inText}

	gone = &fold.Table[domain.Gone]{ID: goneID, Name: "gone", Codec: inJSON[domain.Gone](nil)}

	answers     = &fold.Table[domain.Answer]{ID: answersID, Name: "answers", Codec: inJSON[domain.Answer](nil)}
	answerOrder = &fold.Table[string]{ID: answerOrderID, Name: "answer order", Codec: inText}

	profiles      = &fold.Table[domain.Profile]{ID: profilesID, Name: "profiles", Codec: inJSON(canonicalProfile), Indexes: profileIndexes}
	services      = &fold.Table[domain.DeviceService]{ID: servicesID, Name: "services", Codec: inJSON[domain.DeviceService](nil), Indexes: serviceIndexes}
	devices       = &fold.Table[domain.Device]{ID: devicesID, Name: "devices", Codec: inJSON(canonicalDevice), Indexes: deviceIndexes}
	watchers      = &fold.Table[domain.ProvisionWatcher]{ID: watchersID, Name: "watchers", Codec: inJSON[domain.ProvisionWatcher](nil), Indexes: watcherIndexes}
	subscriptions = &fold.Table[domain.Subscription]{ID: subscriptionsID, Name: "subscriptions", Codec: inJSON[domain.Subscription](nil), Indexes: subscriptionIndexes}
	users         = &fold.Table[domain.User]{ID: usersID, Name: "users", Codec: inJSON[domain.User](nil), Indexes: userIndexes}
	tokens        = &fold.Table[domain.Token]{ID: tokensID, Name: "tokens", Codec: inJSON[domain.Token](nil), Indexes: tokenIndexes}
	notifications = &fold.Table[domain.Notification]{ID: notificationsID, Name: "notifications", Codec: inJSON[domain.Notification](nil), Indexes: notificationIndexes}
	transmissions = &fold.Table[domain.Transmission]{ID: transmissionsID, Name: "transmissions", Codec: inJSON[domain.Transmission](nil), Indexes: transmissionIndexes, Shift: 20}
	cleanups      = &fold.Table[domain.Cleanup]{ID: cleanupsID, Name: "cleanups", Codec: inJSON[domain.Cleanup](nil), Indexes: cleanupIndexes}
	dataEvents    = &fold.Table[domain.DataEvent]{ID: dataEventsID, Name: "data events", Codec: inRows(packDataEvent, (*dataEventRow).unpack, canonicalDataEvent), Indexes: dataEventIndexes, Shift: 40, Weigh: func(e domain.DataEvent) int64 { return e.Size }, Parts: forgetReadings}
	readings      = &fold.Table[domain.Reading]{ID: readingsID, Name: "readings", Codec: inRows(packReading, (*readingRow).unpack, nil), Indexes: readingIndexes, Shift: 40}
)

func canonicalDevice(d domain.Device) domain.Device {
	d.Location = canonicalJSON(d.Location)
	return d
}

func canonicalDataEvent(e domain.DataEvent) domain.DataEvent {
	e.Tags = canonicalJSON(e.Tags)
	return e
}

func canonicalProfile(p domain.Profile) domain.Profile {
	p.DeviceResources = slices.Clone(p.DeviceResources)
	for i := range p.DeviceResources {
		p.DeviceResources[i].Attributes = canonicalAny(p.DeviceResources[i].Attributes)
	}
	return p
}

// held lists the tables of each file.
var held = map[Tables][]fold.AnyTable{
	Events:        {profiles, services, devices, watchers, subscriptions, users, tokens, ids, uses, gone, seeds, answers, answerOrder},
	Notifications: {notifications, transmissions, cleanups, cursors, answers, answerOrder},
	Readings:      {dataEvents, readings, cleanups, answers, answerOrder},
}

// forgetReadings forgets the readings of an event of core-data. They have no index of what was written: the event that puts a reading puts
// what it is a part of, too.
func forgetReadings(f *fold.Forgetting, e domain.DataEvent) (n int) {
	for _, id := range e.Readings {
		if readings.Forget(f, id) {
			n++
		}
	}
	return n
}
