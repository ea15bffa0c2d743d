package domain

// Table is one kind of entity by key: a map, a bucket of a database, or an overlay of pending changes on either.
// A value that was put must not be changed afterwards. A table that cannot answer for now panics: see Try.
type Table[S any] interface {
	Get(key string) (S, bool)
	Put(key string, s S)
	Delete(key string)
}

// State is everything that the log says, at one point of it. The tables after Tokens are derived by the same
// fold: they let Decide answer "is this id taken" and "is this profile in use" without a scan.
type State struct {
	Profiles      Table[Profile]
	Services      Table[DeviceService]
	Devices       Table[Device]
	Watchers      Table[ProvisionWatcher]
	Subscriptions Table[Subscription]
	Users         Table[User]
	Tokens        Table[Token]

	// IDs maps "<entity>/<id>" to the entity's name, "command/<device>" to the sequence of the last event of the device's commands,
	// "open/<sequence>" to the device of a command that was sent and has no outcome on record, and "retention/<setting>" to the value of a
	// setting of retention that an administrator has set.
	IDs Table[string]
	// Uses counts the devices and provision watchers that name "profile/<name>" or "service/<name>", and all "users", "admins" and "tokens".
	Uses Table[int]
	// Gone maps "<entity>/<name>" to the removals of the name. It has one row for each name that was ever removed, so that the number
	// of removals on the log bounds it.
	Gone Table[Gone]
	// Seeds holds the names of the samples that were written at a first start, so that a deleted one stays deleted.
	Seeds Table[bool]

	Notifications Table[Notification]
	Transmissions Table[Transmission]
	// DataEvents are the events of core-data, by id, and Readings their readings, by id.
	DataEvents Table[DataEvent]
	Readings   Table[Reading]
	// Cleanups holds, by kind, the removals that go on; those of notifications and those of data events are on their streams.
	Cleanups Table[Cleanup]
	// Cursors holds, by consumer, the last sequence of the event stream whose consequences are on record.
	Cursors Table[uint64]

	// Answers and AnswerOrder hold what was answered to requests with a [Key]; each stream has its own.
	Answers     Table[Answer]
	AnswerOrder Table[string]
}

// Command asks for one change. Decide answers with the event that makes it so, with nil where nothing is to do, or
// with an [Error]. It must not put or delete.
type Command interface {
	Decide(State) (Event, error)
}

// Event is one change that happened. Evolve cannot fail: what could, was refused by Decide.
type Event interface {
	Evolve(State)
	// Subject says what changed: the tokens of the event's NATS subject below the stream's prefix.
	Subject() Subject
}

// Subject names what an event is about and what happened to it; joined with dots it ends the event's NATS subject.
// Every token is limited to [a-zA-Z0-9-_~:;=].
type Subject []string

// NewMapState returns an empty State on plain maps: for tests, for folds of a part of the log and for overlays.
func NewMapState() State {
	return State{
		Profiles: MapTable[Profile]{}, Services: MapTable[DeviceService]{}, Devices: MapTable[Device]{},
		Watchers: MapTable[ProvisionWatcher]{}, Users: MapTable[User]{}, Tokens: MapTable[Token]{},
		Subscriptions: MapTable[Subscription]{}, IDs: MapTable[string]{}, Uses: MapTable[int]{}, Gone: MapTable[Gone]{},
		Seeds:         MapTable[bool]{},
		Notifications: MapTable[Notification]{}, Transmissions: MapTable[Transmission]{},
		DataEvents: MapTable[DataEvent]{}, Readings: MapTable[Reading]{},
		Cleanups: MapTable[Cleanup]{}, Cursors: MapTable[uint64]{}, Answers: MapTable[Answer]{}, AnswerOrder: MapTable[string]{},
	}
}

// MapTable is a Table in memory.
type MapTable[S any] map[string]S

// Get returns the value at key.
func (t MapTable[S]) Get(key string) (S, bool) { s, ok := t[key]; return s, ok }

// Put stores s at key.
func (t MapTable[S]) Put(key string, s S) { t[key] = s }

// Delete removes key.
func (t MapTable[S]) Delete(key string) { delete(t, key) }
