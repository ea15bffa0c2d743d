package projections

import (
	"fmt"
	"iter"
	"math"
	"time"

	"ledge/domain"
	"ledge/projections/fold"
)

// maxPage is how many entities a [Page] without a limit of its own has at most: EdgeX's MaxResultCount.
const maxPage = 1024

// Page is a part of a list: what to leave out at its beginning, which is the newest, and how many to return. A Limit
// below 0 stands for 1024; any other is the caller's own bound.
type Page = domain.Page

// Filter keeps the entities that an index has at Value, or those of a time, see [domain.Between]: when notifications and transmissions were
// created, in milliseconds since the Unix epoch, or the origin of readings, in nanoseconds. The total of notifications of a time costs a walk over them.
type Filter = domain.Filter

func (v *View) page(p Page, filters []Filter) (fold.Page, []fold.Filter) {
	if p.Limit < 0 {
		p.Limit = maxPage
	}
	all := make([]fold.Filter, len(filters))
	for i, f := range filters {
		all[i] = foldFilter(f)
	}
	return fold.Page(p), all
}

func foldFilter(f Filter) fold.Filter {
	g := fold.Filter{Index: f.Index, Value: f.Value, Any: f.Any, Without: f.Without, From: f.From, To: f.To}
	for _, or := range f.Or {
		g.Or = append(g.Or, foldFilter(or))
	}
	return g
}

// Keys implements domain.Lists.
func (v *View) Keys(list string, p Page, filters ...Filter) (keys []string, total int, err error) {
	return v.readKeys(list, nil, p, filters)
}

// KeysAsOf implements domain.Lists.
func (v *View) KeysAsOf(list string, past domain.Past, p Page, filters ...Filter) (keys []string, total int, err error) {
	return v.readKeys(list, &fold.Past{Seq: past.Seq, Former: asFormer(past.Former)}, p, filters)
}

func (v *View) readKeys(list string, past *fold.Past, p Page, filters []Filter) (keys []string, total int, err error) {
	for _, t := range held[v.d.tables] {
		if t.Called(list) {
			page, all := v.page(p, filters)
			return t.Keys(v.View, past, page, all)
		}
	}
	return nil, 0, fmt.Errorf("%s has no list %q", v.d.tables, list)
}

func asFormer(list iter.Seq[domain.Former]) iter.Seq[fold.Former] {
	return func(yield func(fold.Former) bool) {
		for f := range list {
			if !yield(fold.Former{Name: f.Key, Seq: f.Revision, At: f.Modified, Entity: f.Entity}) {
				return
			}
		}
	}
}

func pageOf[S any](v *View, t *fold.Table[S], p Page, filters []Filter) ([]S, int, error) {
	page, all := v.page(p, filters)
	return t.List(v.View, page, all)
}

// Each list is newest first, by the modified time; what was put by the later event comes first among equals. total is
// how many there are on all pages. An offset beyond total is a [domain.Error] of code OutOfRange.

// Profiles lists device profiles: all, or by Label, Manufacturer, Model.
func (v *View) Profiles(p Page, filters ...Filter) (list []domain.Profile, total int, err error) {
	return pageOf(v, profiles, p, filters)
}

// Services lists device services: all, or by Label.
func (v *View) Services(p Page, filters ...Filter) (list []domain.DeviceService, total int, err error) {
	return pageOf(v, services, p, filters)
}

// Devices lists devices: all, or by Label, ByProfile, ByService.
func (v *View) Devices(p Page, filters ...Filter) (list []domain.Device, total int, err error) {
	return pageOf(v, devices, p, filters)
}

// Watchers lists provision watchers: all, or by Label, ByProfile, ByService.
func (v *View) Watchers(p Page, filters ...Filter) (list []domain.ProvisionWatcher, total int, err error) {
	return pageOf(v, watchers, p, filters)
}

// Subscriptions lists subscriptions: all, or by Label, Category, Receiver.
func (v *View) Subscriptions(p Page, filters ...Filter) (list []domain.Subscription, total int, err error) {
	return pageOf(v, subscriptions, p, filters)
}

// Users lists all users.
func (v *View) Users(p Page, filters ...Filter) (list []domain.User, total int, err error) {
	return pageOf(v, users, p, filters)
}

// Tokens lists all tokens.
func (v *View) Tokens(p Page, filters ...Filter) (list []domain.Token, total int, err error) {
	return pageOf(v, tokens, p, filters)
}

// Notifications lists notifications: all, or by Label, Category, Status, BySubscription, Between.
func (v *View) Notifications(p Page, filters ...Filter) (list []domain.Notification, total int, err error) {
	return pageOf(v, notifications, p, filters)
}

// Transmissions lists transmissions by their created time: all, or by Status, BySubscription, ByNotification, Between.
func (v *View) Transmissions(p Page, filters ...Filter) (list []domain.Transmission, total int, err error) {
	return pageOf(v, transmissions, p, filters)
}

// Readings lists readings by their origin: all, or by ByDevice, ByResource, IndexDeviceResource, IndexDigest, Between.
func (v *View) Readings(p Page, filters ...Filter) (list []domain.Reading, total int, err error) {
	return pageOf(v, readings, p, filters)
}

// Origins implements domain.Lists. It reads one index entry for each time.
func (v *View) Origins(device string, apart time.Duration, most int) (times []int64, err error) {
	own := fold.Filter{Index: domain.IndexDevice, Value: device}
	err = v.Read(func() error {
		for before := int64(math.MaxInt64); len(times) < most; before = times[len(times)-1] - int64(apart) {
			entry, ok, err := fold.NewestUntil(v.View, dataEvents, own, before)
			if err != nil || !ok {
				return err
			}
			times = append(times, entry.Time())
		}
		return nil
	})
	return times, err
}

// Numbers implements domain.Lists. It reads one index entry for each value.
func (v *View) Numbers(s domain.Series, after string, most int, f func(origin int64, number float64)) (next string, err error) {
	own := fold.Filter{Index: domain.IndexDeviceResource, Value: domain.DeviceResourceKey(s.Device, s.Resource), From: s.From, To: s.To}
	err = v.Read(func() error {
		notes, err := fold.Notes(v.View, readings, own, fold.EntryAt(after))
		if err != nil {
			return err
		}
		left := most
		for entry, note := range notes {
			f(entry.Time(), numberIn(note))
			if left--; left <= 0 {
				next = entry.Place()
				break
			}
		}
		return nil
	})
	return next, err
}

var _ domain.Lists = (*View)(nil)
