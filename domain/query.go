package domain

// Page is a part of a list: Limit entries from Offset on, newest first. Limit -1 means all.
type Page struct{ Offset, Limit int }

// Filter keeps the entries of a list that have Value in Index, such as {"label", "indoor"}; the indexes of each
// entity are listed in projections/indexes.go.
type Filter struct {
	Index, Value string
	// From and To bound a time, both included, in milliseconds; only projections.Between uses them.
	From, To int64
}

// Lists are the lists of a state, newest first: by the time of the last change, then by the order of the log. total
// counts what the filters keep, before the page is cut. A page beyond the end is an OutOfRange Error.
type Lists interface {
	Profiles(Page, ...Filter) (list []Profile, total int, err error)
	Services(Page, ...Filter) (list []DeviceService, total int, err error)
	Devices(Page, ...Filter) (list []Device, total int, err error)
	Watchers(Page, ...Filter) (list []ProvisionWatcher, total int, err error)
	Subscriptions(Page, ...Filter) (list []Subscription, total int, err error)
}

// View is one consistent look at the state: single entities in State, lists in Lists.
type View struct {
	State State
	Lists Lists
}
