package projections

import (
	"io"
	"slices"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// Tables says which stream's state a file holds.
type Tables int

// The streams; each has a file of its own, which is rebuilt independently of the others. All have answers.
const (
	Events        Tables = iota // profiles, services, devices, watchers, subscriptions, users, tokens, ids, uses, seeds
	Notifications               // notifications, transmissions, cleanups, cursors
	Readings                    // events of core-data, readings, cleanups
)

func (t Tables) String() string {
	return [...]string{"events", "notifications", "readings"}[t]
}

// kind is one table: where its rows are, how they are written, and which indexes its entities have.
type kind[S any] struct {
	id   byte
	name string
	codec[S]
	// indexes has the list of all entities first. A table without indexes is not counted, and its rows do not say
	// which event put them.
	indexes []index[S]
	// shift, where it is not 0, says that lists are in the order of the time that Between asks for, and that an entity has one value in
	// each index at most: so what any filter keeps of a time is a span of its own index. A bucket of that is 2^shift units of its time.
	shift uint
	// weigh, where there is one, is what the indexes' counters sum up beside the number of entities.
	weigh func(S) int64
	// parts, where there is one, forgets with an entity what is a part of it, and returns how many rows those were.
	parts func(rows *bbolt.Bucket, w *writer, s S, before uint64) (n int)
}

var (
	uses    = &kind[int]{id: usesID, name: "uses", codec: inCount}
	seeds   = &kind[bool]{id: seedsID, name: "seeds", codec: inFlag}
	cursors = &kind[uint64]{id: cursorsID, name: "cursors", codec: inNumber}
	ids     = &kind[string]{id: idsID, name: "ids", codec: inText}

	answers     = &kind[domain.Answer]{id: answersID, name: "answers", codec: inJSON[domain.Answer](nil)}
	answerOrder = &kind[string]{id: answerOrderID, name: "answer order", codec: inText}

	profiles      = &kind[domain.Profile]{id: profilesID, name: "profiles", codec: inJSON(canonicalProfile), indexes: profileIndexes}
	services      = &kind[domain.DeviceService]{id: servicesID, name: "services", codec: inJSON[domain.DeviceService](nil), indexes: serviceIndexes}
	devices       = &kind[domain.Device]{id: devicesID, name: "devices", codec: inJSON(canonicalDevice), indexes: deviceIndexes}
	watchers      = &kind[domain.ProvisionWatcher]{id: watchersID, name: "watchers", codec: inJSON[domain.ProvisionWatcher](nil), indexes: watcherIndexes}
	subscriptions = &kind[domain.Subscription]{id: subscriptionsID, name: "subscriptions", codec: inJSON[domain.Subscription](nil), indexes: subscriptionIndexes}
	users         = &kind[domain.User]{id: usersID, name: "users", codec: inJSON[domain.User](nil), indexes: userIndexes}
	tokens        = &kind[domain.Token]{id: tokensID, name: "tokens", codec: inJSON[domain.Token](nil), indexes: tokenIndexes}
	notifications = &kind[domain.Notification]{id: notificationsID, name: "notifications", codec: inJSON[domain.Notification](nil), indexes: notificationIndexes}
	transmissions = &kind[domain.Transmission]{id: transmissionsID, name: "transmissions", codec: inJSON[domain.Transmission](nil), indexes: transmissionIndexes, shift: 20}
	cleanups      = &kind[domain.Cleanup]{id: cleanupsID, name: "cleanups", codec: inJSON[domain.Cleanup](nil), indexes: cleanupIndexes}
	dataEvents    = &kind[domain.DataEvent]{id: dataEventsID, name: "data events", codec: inRows(packDataEvent, (*dataEventRow).unpack, canonicalDataEvent), indexes: dataEventIndexes, shift: 40, weigh: func(e domain.DataEvent) int64 { return e.Size }, parts: forgetReadings}
	readings      = &kind[domain.Reading]{id: readingsID, name: "readings", codec: inRows(packReading, (*readingRow).unpack, nil), indexes: readingIndexes, shift: 40}
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

// stored is a kind of whatever type, for what is done to all tables alike.
type stored interface {
	owns(id byte) bool
	describe(key, value []byte) (line, error)
	// called reports whether the table has a name. save returns a row for a snapshot, load writes it back.
	called(name string) bool
	save(key, value []byte) (SnapshotRow, error)
	load(w *writer, r SnapshotRow) error
	indexName(id byte) (string, bool)
	counted() (name string, all byte, ok bool)
	layout(w io.Writer)
	write(rows *bbolt.Bucket, c *bbolt.Cursor, w *writer, r memrow) error
	// keys returns the names of the entities on a page of their list. One that is too long for a key is cut; the API lets none in.
	keys(v *View, p Page, filters []Filter) (keys []string, total int, err error)
	// forget takes at most so many rows away that events before a sequence have put, the oldest first.
	forget(rows *bbolt.Bucket, w *writer, before uint64, most int) (n int)
	// first returns the first sequence that has put a row that is there, in a table that forgets.
	first(rows *bbolt.Bucket) (seq uint64, ok bool)
}

// held lists the tables of each file.
var held = map[Tables][]stored{
	Events:        {profiles, services, devices, watchers, subscriptions, users, tokens, ids, uses, seeds, answers, answerOrder},
	Notifications: {notifications, transmissions, cleanups, cursors, answers, answerOrder},
	Readings:      {dataEvents, readings, cleanups, answers, answerOrder},
}
