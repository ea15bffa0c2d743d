package domain

import (
	"iter"
	"time"
)

// Page is a part of a list: Limit entries from Offset on, newest first. Limit -1 means all.
type Page struct{ Offset, Limit int }

// Filter keeps the entries of a list that have Value in Index, such as {"label", "indoor"}; the indexes of each
// entity are listed in projections/indexes.go.
type Filter struct {
	Index, Value string
	// Any, where it is not empty, stands for Value: an entry is kept that has any of them.
	Any []string
	// Or are further filters by index: an entry that one of them finds is kept too.
	Or []Filter
	// Without keeps the entries that do not have it instead.
	Without bool
	// From and To bound the time of IndexTime, both included. A list that has them is in the order of that time.
	From, To int64
}

// Between is the Filter of a time.
func Between(from, to int64) Filter { return Filter{Index: IndexTime, From: from, To: to} }

// The lists, as [Lists.Keys] knows them.
const (
	ListProfiles      = "profiles"
	ListServices      = "services"
	ListDevices       = "devices"
	ListWatchers      = "watchers"
	ListSubscriptions = "subscriptions"
	ListUsers         = "users"
	ListTokens        = "tokens"
	ListNotifications = "notifications"
	ListTransmissions = "transmissions"
	ListDataEvents    = "data events"
	ListReadings      = "readings"
)

// Lists are the lists of a state, newest first: by the time of the last change, then by the order of the log. total
// counts what the filters keep, before the page is cut. A page beyond the end is an OutOfRange Error.
type Lists interface {
	// Keys are those of the entities on a page of a list, such as ListDevices: what a table has them under.
	Keys(list string, p Page, filters ...Filter) (keys []string, total int, err error)
	Profiles(Page, ...Filter) (list []Profile, total int, err error)
	Services(Page, ...Filter) (list []DeviceService, total int, err error)
	Devices(Page, ...Filter) (list []Device, total int, err error)
	Watchers(Page, ...Filter) (list []ProvisionWatcher, total int, err error)
	Subscriptions(Page, ...Filter) (list []Subscription, total int, err error)
	Users(Page, ...Filter) (list []User, total int, err error)
	Tokens(Page, ...Filter) (list []Token, total int, err error)
	Notifications(Page, ...Filter) (list []Notification, total int, err error)
	// Transmissions is in the order of the created time: they have no other.
	Transmissions(Page, ...Filter) (list []Transmission, total int, err error)
	// Readings is in the order of their origin.
	Readings(Page, ...Filter) (list []Reading, total int, err error)
	// Origins are times of a device's events of core-data, in nanoseconds since the Unix epoch, newest first: of the newest event, and then
	// of the newest event that is at least apart older than the one before, and so on. There are at most most times.
	Origins(device string, apart time.Duration, most int) ([]int64, error)
	// Numbers calls f with the origin and the number of the values of a series, oldest first: with at most most of them, behind the place
	// after; "" is before the first. A value that is not a number is NaN. next is the place of the last one; "" says that there are no
	// more.
	Numbers(s Series, after string, most int, f func(origin int64, number float64)) (next string, err error)
	// TransmissionIDs are those of one notification's transmissions, in no order.
	TransmissionIDs(notification string) ([]string, error)
	// Checkpoint returns the last event that is shown, with its chain hash. A list may move it.
	Checkpoint() (seq uint64, chain [32]byte)
	// KeysAsOf returns the page as of an earlier event.
	KeysAsOf(list string, past Past, p Page, filters ...Filter) (keys []string, total int, err error)
}

// Past is the part of a list as of an event that the state does not have any more.
type Past struct {
	Seq uint64
	// Former has the entities of the list that later events have changed or removed, as they were.
	Former iter.Seq[Former]
}

// Former is an entity as the event of a sequence, its revision, has put it.
type Former struct {
	Key      string
	Revision uint64
	Modified int64               // the time that lists are sorted by
	Entity   func() (any, error) // reads it; it is of the type of the list
}

// Series is the values of a resource of a device between two origins, both included, in nanoseconds since the Unix epoch.
type Series struct {
	Device, Resource string
	From, To         int64
}

// Filters keep the readings of the series.
func (s Series) Filters() []Filter {
	return []Filter{{Index: IndexDeviceResource, Value: DeviceResourceKey(s.Device, s.Resource)}, Between(s.From, s.To)}
}

// View is one consistent look at the state: single entities in State, lists in Lists.
type View struct {
	State State
	Lists Lists
}

// Sized is a Table that does not read entities that are too large.
type Sized[S any] interface {
	GetWithin(key string, most int, into *S) Row
}

// Row says what is in a table at a key.
type Row struct {
	// OK is that the entity is there, and that it was read: it takes no more than was asked for.
	OK bool
	// Size is about how many bytes the entity takes: as JSON and, where it is large, while that is read and written again.
	Size     int
	Revision uint64
}

// GetWithin reads the entity at key into a zero value if it takes most bytes at most. Of a larger one it says only that it is. Where t does not know
// what its entities take, they take nothing.
func GetWithin[S any](t Table[S], key string, most int, into *S) (r Row) {
	if sized, is := t.(Sized[S]); is {
		return sized.GetWithin(key, most, into)
	}
	*into, r.OK = t.Get(key)
	r.Revision = Revision(t, key)
	return r
}
