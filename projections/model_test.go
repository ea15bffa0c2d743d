package projections

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"ledge/domain"
	"ledge/projections/fold"
)

// history makes random events that follow from each other, and knows what they lead to.
type history struct {
	*rand.Rand
	seq    uint64
	state  domain.State
	puts   map[string]uint64 // table and key → the event that put it last
	events []domain.Recorded
	keeps  bool // nothing is removed
}

func newHistory(seed uint64) *history {
	return &history{Rand: rand.New(rand.NewPCG(seed, 1)), state: domain.NewMapState(), puts: map[string]uint64{}}
}

func (h *history) record(e domain.Event, puts ...string) {
	h.seq++
	h.events = append(h.events, recorded(h.seq, e))
	domain.Evolve(h.state, &h.events[len(h.events)-1])
	for _, p := range puts {
		h.puts[p] = h.seq
	}
}

func (h *history) some(prefix string, most int) []string {
	var list []string
	for range h.IntN(4) {
		list = append(list, fmt.Sprint(prefix, h.IntN(most))) // now and then one twice
	}
	return list
}

// now is a time of which many entities have the same.
func (h *history) now() int64 { return int64(h.IntN(30)) - 3 }

func (h *history) device(n int) domain.Device {
	d := camera(n)
	d.Labels = h.some("label-", 5)
	d.ProfileName = fmt.Sprint("profile-", h.IntN(4))
	d.ServiceName = fmt.Sprint("service-", h.IntN(2))
	d.Modified = h.now()
	return d
}

// metadata adds an event to the history of the event stream.
func (h *history) metadata() {
	n := h.IntN(60)
	name := camera(n).Name
	_, there := h.state.Devices.Get(name)
	switch roll := h.IntN(12); {
	case roll == 0:
		p := domain.Profile{ID: uuid("profile", n), Name: fmt.Sprint("profile-", n), Manufacturer: fmt.Sprint("m", h.IntN(3)),
			Model: fmt.Sprint("o", h.IntN(3)), Labels: h.some("label-", 5), Modified: h.now()}
		if _, ok := h.state.Profiles.Get(p.Name); ok && h.IntN(2) == 0 {
			h.record(domain.ProfileRemoved{Profile: p})
		} else if !ok {
			h.record(domain.ProfileAdded{Profile: p}, "profiles "+p.Name)
		} else {
			h.record(domain.ProfileUpdated{Profile: p}, "profiles "+p.Name)
		}
	case roll == 1:
		s := domain.Subscription{ID: uuid("subscription", n), Name: fmt.Sprint("s", n), Receiver: fmt.Sprint("r", h.IntN(3)),
			Labels: h.some("label-", 5), Categories: h.some("category-", 3), Modified: h.now()}
		if _, ok := h.state.Subscriptions.Get(s.Name); !ok {
			h.record(domain.SubscriptionAdded{Subscription: s}, "subscriptions "+s.Name)
		} else if h.IntN(2) == 0 {
			h.record(domain.SubscriptionUpdated{Subscription: s}, "subscriptions "+s.Name)
		} else {
			h.record(domain.SubscriptionRemoved{Subscription: s})
		}
	case roll == 11:
		h.service(n)
	case roll == 9 && there:
		h.addCommand(name)
	case roll == 10 && h.IntN(2) == 0:
		h.identity(n)
	case roll == 10:
		h.watcher(n)
	case !there:
		h.record(domain.DeviceAdded{Device: h.device(n)}, "devices "+name)
	case roll < 7:
		h.record(domain.DeviceUpdated{Device: h.device(n)}, "devices "+name)
	default:
		d, _ := h.state.Devices.Get(name)
		h.record(domain.DeviceRemoved{Device: d})
	}
}

// addCommand records a command to a device: one that is refused, one that is open, or one with its outcome.
func (h *history) addCommand(device string) {
	prev := domain.LastCommand(h.state, device)
	if h.IntN(3) == 0 {
		h.record(domain.CommandIssued{Device: device, Service: "s", Command: "c", Status: 423, Prev: prev})
		return
	}
	h.record(domain.CommandIssued{Device: device, Service: "s", Command: "c", Prev: prev})
	if issued := h.seq; h.IntN(2) == 0 {
		h.record(domain.CommandAnswered{Device: device, Command: "c", Issued: issued, Status: 200, Prev: issued})
	}
}

func (h *history) watcher(n int) {
	w := domain.ProvisionWatcher{ID: uuid("watcher", n), Name: fmt.Sprint("w", n), Labels: h.some("label-", 5), Modified: h.now(),
		Identifiers: map[string]string{"a": fmt.Sprint(h.IntN(9))}, BlockingIdentifiers: map[string][]string{"b": h.some("x", 3)},
		ProfileName: fmt.Sprint("profile-", h.IntN(4)), ServiceName: fmt.Sprint("service-", h.IntN(2))}
	old, there := h.state.Watchers.Get(w.Name)
	switch {
	case !there:
		h.record(domain.WatcherAdded{Watcher: w}, "watchers "+w.Name)
	case h.IntN(2) == 0:
		h.record(domain.WatcherUpdated{Watcher: w}, "watchers "+w.Name)
	default:
		h.record(domain.WatcherRemoved{Watcher: old})
	}
}

// identity adds, changes or removes a user or a token.
func (h *history) identity(n int) {
	u := domain.User{Name: fmt.Sprint("user-", n%9), Role: domain.Roles()[h.IntN(5)], Credential: "c", Created: h.now(), Modified: h.now()}
	t := domain.Token{Name: fmt.Sprint("token-", n%9), Role: domain.Poster, Devices: h.some("d", 3), Credential: "c", Created: h.now()}
	user, there := h.state.Users.Get(u.Name)
	token, exists := h.state.Tokens.Get(t.Name)
	switch roll := h.IntN(5); {
	case !there:
		h.record(domain.UserAdded{User: u}, "users "+u.Name)
	case !exists:
		h.record(domain.TokenAdded{Token: t}, "tokens "+t.Name)
	case roll == 0:
		h.record(domain.UserRemoved{User: user})
	case roll == 1:
		h.record(domain.TokenRemoved{Token: token})
	case roll == 3:
		h.record(domain.TokenRotated{Name: t.Name, Credential: "e", OldUntil: h.now()}, "tokens "+t.Name)
	case roll == 2:
		h.record(domain.UserUpdated{Name: u.Name, Was: user.Role, Role: u.Role, Modified: h.now()}, "users "+u.Name)
	default:
		h.record(domain.UserPassword{Name: u.Name, Credential: "d", MustChange: true, Modified: h.now()}, "users "+u.Name)
	}
}

// service adds, changes or removes a device service.
func (h *history) service(n int) {
	d := domain.DeviceService{ID: uuid("service", n), Name: fmt.Sprint("service-", n), Labels: h.some("label-", 5), Modified: h.now()}
	old, there := h.state.Services.Get(d.Name)
	switch {
	case !there:
		h.record(domain.ServiceAdded{Service: d}, "services "+d.Name)
	case h.IntN(2) == 0:
		h.record(domain.ServiceUpdated{Service: d}, "services "+d.Name)
	default:
		h.record(domain.ServiceRemoved{Service: old})
	}
}

// notification adds an event to the history of the notification stream.
func (h *history) notification() {
	if h.IntN(10) == 0 {
		behind := map[string]uint64{fmt.Sprint("service-", h.IntN(2)): uint64(h.IntN(2)) * h.seq}
		h.record(domain.CallbacksMade{UpTo: h.seq, Behind: behind})
		return
	}
	n := domain.Notification{ID: uuid("notification", h.IntN(80)), Category: fmt.Sprint("category-", h.IntN(3)),
		Labels: h.some("label-", 5), Status: domain.StatusNew, Matched: h.some("s", 4), Created: h.now(), Modified: h.now(),
		Cause: uint64(h.IntN(2)) * h.seq}
	if !h.keeps && h.IntN(10) == 0 {
		h.removal(n.ID)
		return
	}
	if old, ok := h.state.Notifications.Get(n.ID); ok {
		old.Status, old.Modified, old.Acknowledged = domain.StatusProcessed, h.now(), h.IntN(3) == 0
		e := domain.NotificationProcessed{Notification: old}
		puts := []string{"notifications " + old.ID}
		for i := range h.IntN(3) {
			t := domain.Transmission{ID: uuid(old.ID, i), NotificationID: old.ID, SubscriptionName: fmt.Sprint("s", h.IntN(4)),
				Status: []string{domain.StatusSent, domain.StatusFailed}[h.IntN(2)], Created: h.now()}
			e.Transmissions = append(e.Transmissions, t)
			puts = append(puts, "transmissions "+t.ID)
		}
		h.record(e, puts...)
		return
	}
	if n.Cause == 0 {
		h.record(domain.NotificationAdded{Notification: n}, "notifications "+n.ID)
		return
	}
	raised, puts := domain.NotificationsRaised{}, []string(nil)
	for range 1 + h.IntN(3) {
		t := domain.Transmission{ID: uuid(n.ID, 9), NotificationID: n.ID, SubscriptionName: fmt.Sprint("s", h.IntN(4)), Created: h.now()}
		raised.Raised = append(raised.Raised, domain.Raised{Notification: n, Transmissions: []domain.Transmission{t}})
		puts = append(puts, "notifications "+n.ID, "transmissions "+t.ID)
		n.ID, n.Cause = uuid("notification", 80+h.IntN(80)), n.Cause+1
	}
	h.record(raised, puts...)
}

// removal removes a notification, whether it is there or not, acknowledges another, or begins or ends a cleanup.
func (h *history) removal(id string) {
	kind := cleanupKinds[h.IntN(3)]
	switch h.IntN(4) {
	case 0:
		h.record(domain.CleanupRequested{Cleanup: domain.Cleanup{Kind: kind, Until: h.now()}}, "cleanups "+kind)
	case 1:
		h.record(domain.CleanupFinished{Kind: kind})
	case 2:
		n, _ := h.state.Notifications.Get(id)
		n.ID, n.Acknowledged = id, !n.Acknowledged
		h.record(domain.NotificationsAcknowledged{Notifications: []domain.Notification{n}}, "notifications "+id)
	default:
		e := domain.NotificationsRemoved{Notifications: []string{id, uuid("nosuch", 1)}}
		for key, t := range h.state.Transmissions.(domain.MapTable[domain.Transmission]) {
			if t.NotificationID == id {
				e.Transmissions = append(e.Transmissions, key)
			}
		}
		slices.Sort(e.Transmissions)
		h.record(e)
	}
}

func (h *history) reading() {
	r := domain.Reading{ID: uuid("reading", int(h.seq)), Profile: "p", Device: fmt.Sprint("d", h.IntN(4)),
		Resource: fmt.Sprint("r", h.IntN(3)), Origin: h.now(), Size: int64(h.IntN(5)), ValueType: "Int32", Text: fmt.Sprint(h.IntN(9))}
	if h.IntN(3) > 0 {
		h.record(domain.ReadingPosted{Reading: r}, "readings "+r.ID, "data events "+r.ID)
		return
	}
	e := domain.DataEventAdded{Event: domain.DataEvent{ID: uuid("event", int(h.seq)), Profile: "p", Device: r.Device, Source: "all", Origin: h.now(),
		Tags: json.RawMessage(`{ "site": "<north>" }`)}}
	puts := []string{"data events " + e.Event.ID}
	for i := range 1 + h.IntN(3) {
		r.ID, r.Resource, r.Origin = uuid("reading of "+e.Event.ID, i), fmt.Sprint("r", i), h.now()
		r.Size, r.ValueType = int64(h.IntN(5)), []string{"Float64", "String"}[i%2]
		e.Readings = append(e.Readings, domain.ReadingValue{Reading: r})
		puts = append(puts, "readings "+r.ID)
	}
	h.record(e, puts...)
}

// removedReadings removes some events of core-data, there or not.
func (h *history) removedReadings() {
	if kind := domain.CleanupDeviceEvents(fmt.Sprint("d", h.IntN(4))); h.IntN(2) == 0 {
		h.record(domain.CleanupRequested{Cleanup: domain.Cleanup{Kind: kind}}, "cleanups "+kind)
	} else {
		h.record(domain.CleanupFinished{Kind: kind})
	}
	e := domain.DataEventsRemoved{Rule: "r"}
	for range 1 + h.IntN(3) {
		e.Events = append(e.Events, uuid("event", h.IntN(1+int(h.seq))), uuid("reading", h.IntN(1+int(h.seq))))
	}
	h.record(e)
}

// expect lists what is in table and passes keep, as a list with no end would have it.
func expect[S any](h *history, name string, table domain.Table[S], at func(S) int64, keep func(S) bool) []S {
	m := map[string]S(table.(domain.MapTable[S]))
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(at(m[b]), at(m[a])), cmp.Compare(h.puts[name+" "+b], h.puts[name+" "+a]), cmp.Compare(b, a))
	})
	list := []S{}
	for _, k := range keys {
		if keep(m[k]) {
			list = append(list, m[k])
		}
	}
	return list
}

// query is one list and what it is expected to be.
type query[S any] struct {
	name    string
	filters []Filter
	keep    func(S) bool
}

// compare asks for every page of a list.
func compare[S any](t *testing.T, name string, want []S, ask func(Page, ...Filter) ([]S, int, error), filters []Filter) {
	t.Helper()
	for _, limit := range []int{-1, 0, 1, 7, len(want), len(want) + 1} {
		for _, offset := range []int{0, 1, len(want) / 2, len(want) - 1, len(want), len(want) + 1, len(want) + 100} {
			if offset < 0 {
				continue
			}
			page := Page{Offset: offset, Limit: limit}
			got, total, err := ask(page, filters...)
			if total != len(want) {
				t.Errorf("%s %+v: total %d, want %d", name, page, total, len(want))
			}
			if offset > len(want) && limit != 0 {
				e := fmt.Sprintf("query objects bounds out of range. length:%d", len(want))
				if message(err) != e || domain.CodeOf(err) != domain.OutOfRange {
					t.Errorf("%s %+v: got %v, want %s", name, page, err, e)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s %+v: %v", name, page, err)
			}
			end := len(want)
			if limit >= 0 {
				end = min(end, offset+limit)
			}
			var part []S
			if offset < end {
				part = want[offset:end]
			}
			if g, w := asJSON(got), asJSON(part); len(got) != len(part) || len(got) > 0 && g != w {
				t.Fatalf("%s %+v:\n got %s\nwant %s", name, page, g, w)
			}
		}
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func has(values []string, v string) bool { return slices.Contains(values, v) }

func deviceQueries() []query[domain.Device] {
	return []query[domain.Device]{
		{"all", nil, func(domain.Device) bool { return true }},
		{"label", []Filter{Label("label-1")}, func(d domain.Device) bool { return has(d.Labels, "label-1") }},
		{"no such label", []Filter{Label("nosuch")}, func(domain.Device) bool { return false }},
		{"two labels", []Filter{Label("label-1"), Label("label-2")},
			func(d domain.Device) bool { return has(d.Labels, "label-1") && has(d.Labels, "label-2") }},
		{"one label twice", []Filter{Label("label-1"), Label("label-1")}, func(d domain.Device) bool { return has(d.Labels, "label-1") }},
		{"profile", []Filter{ByProfile("profile-2")}, func(d domain.Device) bool { return d.ProfileName == "profile-2" }},
		{"service", []Filter{ByService("service-1")}, func(d domain.Device) bool { return d.ServiceName == "service-1" }},
		{"label, profile and service", []Filter{Label("label-3"), ByProfile("profile-1"), ByService("service-0")},
			func(d domain.Device) bool {
				return has(d.Labels, "label-3") && d.ProfileName == "profile-1" && d.ServiceName == "service-0"
			}},
	}
}

func TestListsOfMetadata(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f, h := MustOpen(t, Events), newHistory(seed)
			for range 5 {
				from := len(h.events)
				for range 60 {
					h.metadata()
				}
				f.feed(t, 1+h.IntN(40), h.events[from:]...)
				v, release := f.View()
				for _, q := range deviceQueries() {
					want := expect(h, "devices", h.state.Devices, func(d domain.Device) int64 { return d.Modified }, q.keep)
					compare(t, "devices "+q.name, want, v.Devices, q.filters)
				}
				compare(t, "profiles by maker and model", expect(h, "profiles", h.state.Profiles, func(p domain.Profile) int64 { return p.Modified },
					func(p domain.Profile) bool { return p.Manufacturer == "m1" && p.Model == "o2" }),
					v.Profiles, []Filter{Manufacturer("m1"), Model("o2")})
				for name, q := range map[string]query[domain.Subscription]{
					"all":      {keep: func(domain.Subscription) bool { return true }},
					"category": {filters: []Filter{Category("category-1")}, keep: func(s domain.Subscription) bool { return has(s.Categories, "category-1") }},
					"receiver": {filters: []Filter{Receiver("r1")}, keep: func(s domain.Subscription) bool { return s.Receiver == "r1" }},
					"label":    {filters: []Filter{Label("label-0")}, keep: func(s domain.Subscription) bool { return has(s.Labels, "label-0") }},
				} {
					want := expect(h, "subscriptions", h.state.Subscriptions, func(s domain.Subscription) int64 { return s.Modified }, q.keep)
					compare(t, "subscriptions "+name, want, v.Subscriptions, q.filters)
				}
				for name, q := range map[string]query[domain.ProvisionWatcher]{
					"all":     {keep: func(domain.ProvisionWatcher) bool { return true }},
					"label":   {filters: []Filter{Label("label-0")}, keep: func(w domain.ProvisionWatcher) bool { return has(w.Labels, "label-0") }},
					"profile": {filters: []Filter{ByProfile("profile-1")}, keep: func(w domain.ProvisionWatcher) bool { return w.ProfileName == "profile-1" }},
					"service": {filters: []Filter{ByService("service-1")}, keep: func(w domain.ProvisionWatcher) bool { return w.ServiceName == "service-1" }},
				} {
					want := expect(h, "watchers", h.state.Watchers, func(w domain.ProvisionWatcher) int64 { return w.Modified }, q.keep)
					compare(t, "watchers "+name, want, v.Watchers, q.filters)
				}
				compare(t, "services by label", expect(h, "services", h.state.Services, func(d domain.DeviceService) int64 { return d.Modified },
					func(d domain.DeviceService) bool { return has(d.Labels, "label-2") }), v.Services, []Filter{Label("label-2")})
				compare(t, "users", expect(h, "users", h.state.Users, func(u domain.User) int64 { return u.Modified }, func(domain.User) bool { return true }), v.Users, nil)
				compare(t, "tokens", expect(h, "tokens", h.state.Tokens, func(t domain.Token) int64 { return t.Created }, func(domain.Token) bool { return true }), v.Tokens, nil)
				sameTables(t, h.state, v.State)
				release()
			}
		})
	}
}

// sameTables looks up every key that the history knows.
func sameTables(t *testing.T, want, got domain.State) {
	t.Helper()
	sameTable(t, "devices", want.Devices, got.Devices)
	sameTable(t, "profiles", want.Profiles, got.Profiles)
	sameTable(t, "services", want.Services, got.Services)
	sameTable(t, "watchers", want.Watchers, got.Watchers)
	sameTable(t, "subscriptions", want.Subscriptions, got.Subscriptions)
	sameTable(t, "users", want.Users, got.Users)
	sameTable(t, "tokens", want.Tokens, got.Tokens)
	sameTable(t, "ids", want.IDs, got.IDs)
	sameTable(t, "uses", want.Uses, got.Uses)
	for n := range 60 {
		name := camera(n).Name
		_, w := want.Devices.Get(name)
		for range 2 { // the second answer is remembered
			if _, g := got.Devices.Get(name); g != w {
				t.Errorf("device %s: found %t, want %t", name, g, w)
			}
		}
	}
}

func sameTable[S any](t *testing.T, name string, want, got domain.Table[S]) {
	t.Helper()
	for key, w := range want.(domain.MapTable[S]) {
		if g, ok := got.Get(key); !ok || asJSON(g) != asJSON(w) {
			t.Errorf("%s %s: got %s %t, want %s", name, key, asJSON(g), ok, asJSON(w))
		}
	}
}

func isAcknowledged(without bool) Filter {
	return Filter{Index: domain.IndexAcknowledged, Value: domain.Acknowledged, Without: without}
}

var (
	anyCategory = Filter{Index: domain.IndexCategory, Any: []string{"category-0", "nosuch", "category-2"}}
	noCategory  = Filter{Index: domain.IndexCategory, Any: anyCategory.Any, Without: true}
)

func inAny(n domain.Notification) bool { return has(anyCategory.Any, n.Category) }

// categoryOrLabel is what a subscription with two categories and a label lists.
var categoryOrLabel = Filter{Index: domain.IndexCategory, Any: anyCategory.Any, Or: []Filter{{Index: domain.IndexLabel, Any: []string{"label-1"}}}}

func inCategoryOrLabel(n domain.Notification) bool { return inAny(n) || has(n.Labels, "label-1") }

func TestListsOfNotifications(t *testing.T) {
	short(t)
	for seed := range uint64(3) {
		f, h := MustOpen(t, Notifications), newHistory(seed)
		for range 400 {
			h.notification()
		}
		f.feed(t, 37, h.events...)
		v, release := f.View()
		defer release()
		modified := func(n domain.Notification) int64 { return n.Modified }
		madeAt := func(n domain.Notification) int64 { return n.Created }
		within := func(n domain.Notification) bool { return n.Created >= 5 && n.Created <= 15 }
		for name, q := range map[string]struct {
			query[domain.Notification]
			at func(domain.Notification) int64
		}{
			"all":                                   {query[domain.Notification]{keep: func(domain.Notification) bool { return true }}, modified},
			"status":                                {query[domain.Notification]{filters: []Filter{Status("PROCESSED")}, keep: func(n domain.Notification) bool { return n.Status == "PROCESSED" }}, modified},
			"category":                              {query[domain.Notification]{filters: []Filter{Category("category-2")}, keep: func(n domain.Notification) bool { return n.Category == "category-2" }}, modified},
			"subscription":                          {query[domain.Notification]{filters: []Filter{BySubscription("s2")}, keep: func(n domain.Notification) bool { return has(n.Matched, "s2") }}, modified},
			"between":                               {query[domain.Notification]{filters: []Filter{Between(5, 15)}, keep: within}, madeAt},
			"no time":                               {query[domain.Notification]{filters: []Filter{Between(15, 5)}, keep: func(domain.Notification) bool { return false }}, madeAt},
			"acknowledged":                          {query[domain.Notification]{filters: []Filter{isAcknowledged(false)}, keep: func(n domain.Notification) bool { return n.Acknowledged }}, modified},
			"not acknowledged":                      {query[domain.Notification]{filters: []Filter{isAcknowledged(true)}, keep: func(n domain.Notification) bool { return !n.Acknowledged }}, modified},
			"a category or a label":                 {query[domain.Notification]{filters: []Filter{categoryOrLabel}, keep: inCategoryOrLabel}, modified},
			"a category or a label, between":        {query[domain.Notification]{filters: []Filter{categoryOrLabel, Between(5, 15)}, keep: func(n domain.Notification) bool { return inCategoryOrLabel(n) && within(n) }}, madeAt},
			"two of the categories":                 {query[domain.Notification]{filters: []Filter{anyCategory}, keep: inAny}, modified},
			"not those of a category, acknowledged": {query[domain.Notification]{filters: []Filter{isAcknowledged(false), noCategory}, keep: func(n domain.Notification) bool { return n.Acknowledged && !inAny(n) }}, modified},
			"two of the categories, not acknowledged, between": {query[domain.Notification]{filters: []Filter{anyCategory, isAcknowledged(true), Between(5, 15)}, keep: func(n domain.Notification) bool { return inAny(n) && !n.Acknowledged && within(n) }}, madeAt},
			"status, not acknowledged":                         {query[domain.Notification]{filters: []Filter{Status("PROCESSED"), isAcknowledged(true)}, keep: func(n domain.Notification) bool { return n.Status == "PROCESSED" && !n.Acknowledged }}, modified},
			"label between":                                    {query[domain.Notification]{filters: []Filter{Label("label-1"), Between(5, 15)}, keep: func(n domain.Notification) bool { return within(n) && has(n.Labels, "label-1") }}, madeAt},
		} {
			compare(t, "notifications "+name, expect(h, "notifications", h.state.Notifications, q.at, q.keep), v.Notifications, q.filters)
		}
		for name, q := range map[string]query[domain.Transmission]{
			"all":    {keep: func(domain.Transmission) bool { return true }},
			"status": {filters: []Filter{Status("SENT")}, keep: func(x domain.Transmission) bool { return x.Status == "SENT" }},
			"two": {filters: []Filter{Status("SENT"), BySubscription("s1"), Between(-1, 20)}, keep: func(x domain.Transmission) bool {
				return x.Status == "SENT" && x.SubscriptionName == "s1" && x.Created >= -1 && x.Created <= 20
			}},
		} {
			want := expect(h, "transmissions", h.state.Transmissions, func(x domain.Transmission) int64 { return x.Created }, q.keep)
			compare(t, "transmissions "+name, want, v.Transmissions, q.filters)
		}
		sameTable(t, "cursors", h.state.Cursors, v.Cursors)
		sameTable(t, "cleanups", h.state.Cleanups, v.Cleanups)
	}
}

// short has buckets of four units of time, until the test ends.
func short(t *testing.T) {
	t.Helper()
	usual := [...]uint{readings.Shift, dataEvents.Shift, transmissions.Shift}
	t.Cleanup(func() { readings.Shift, dataEvents.Shift, transmissions.Shift = usual[0], usual[1], usual[2] })
	readings.Shift, dataEvents.Shift, transmissions.Shift = 2, 2, 2
}

func ofDeviceResource(device string, resources ...string) Filter {
	f := Filter{Index: domain.IndexDeviceResource}
	for _, r := range resources {
		f.Any = append(f.Any, domain.DeviceResourceKey(device, r))
	}
	return f
}

// during is a query for a time beside another query.
func during[S any](q query[S], from, to int64, at func(S) int64) query[S] {
	return query[S]{
		filters: append(slices.Clone(q.filters), Between(from, to)),
		keep:    func(s S) bool { return q.keep(s) && at(s) >= from && at(s) <= to },
	}
}

// compareTimes compares what queries give, of all times and of some.
func compareTimes[S any](t *testing.T, h *history, name string, table domain.Table[S], at func(S) int64,
	ask func(Page, ...Filter) ([]S, int, error), queries map[string]query[S]) {
	t.Helper()
	for what, q := range queries {
		compare(t, name+" "+what, expect(h, name, table, at, q.keep), ask, q.filters)
		for _, times := range [][2]int64{{0, 20}, {-3, 5}, {7, 7}, {11, 10}, {math.MinInt64, math.MaxInt64}, {26, math.MaxInt64}, {40, 50}} {
			d := during(q, times[0], times[1], at)
			compare(t, fmt.Sprint(name, " ", what, " ", times), expect(h, name, table, at, d.keep), ask, d.filters)
		}
	}
}

func readingQueries() map[string]query[domain.Reading] {
	return map[string]query[domain.Reading]{
		"all":      {keep: func(domain.Reading) bool { return true }},
		"device":   {filters: []Filter{ByDevice("d1")}, keep: func(r domain.Reading) bool { return r.Device == "d1" }},
		"resource": {filters: []Filter{ByResource("r2")}, keep: func(r domain.Reading) bool { return r.Resource == "r2" }},
		"nothing":  {filters: []Filter{ByResource("nosuch")}, keep: func(domain.Reading) bool { return false }},
		"resource of a device": {filters: []Filter{{Index: domain.IndexDeviceResource, Value: domain.DeviceResourceKey("d1", "r1")}},
			keep: func(r domain.Reading) bool { return r.Device == "d1" && r.Resource == "r1" }},
		"resources of a device": {filters: []Filter{ofDeviceResource("d1", "r1", "nosuch", "r0", "r1")},
			keep: func(r domain.Reading) bool {
				return r.Device == "d1" && (r.Resource == "r0" || r.Resource == "r1")
			}},
		"resources, not of a device": {filters: []Filter{{Index: domain.IndexResource, Any: []string{"r1", "r2"}}, {Index: domain.IndexDevice, Any: []string{"d1"}, Without: true}},
			keep: func(r domain.Reading) bool {
				return r.Device != "d1" && (r.Resource == "r2" || r.Resource == "r1")
			}},
		"device, resource": {filters: []Filter{ByDevice("d1"), ByResource("r1")},
			keep: func(r domain.Reading) bool { return r.Device == "d1" && r.Resource == "r1" }},
	}
}

func dataEventQueries() map[string]query[domain.DataEvent] {
	return map[string]query[domain.DataEvent]{
		"all":    {keep: func(domain.DataEvent) bool { return true }},
		"device": {filters: []Filter{ByDevice("d1")}, keep: func(e domain.DataEvent) bool { return e.Device == "d1" }},
		"source": {filters: []Filter{{Index: domain.IndexSource, Value: domain.SourceKey("p", "d2", "all")}},
			keep: func(e domain.DataEvent) bool { return e.Device == "d2" && e.Source == "all" }},
	}
}

// compareReadings compares all lists of a file of readings with what the history knows.
func (f *fed) compareReadings(t *testing.T, h *history) {
	t.Helper()
	v, release := f.View()
	defer release()
	compareTimes(t, h, "readings", h.state.Readings, func(r domain.Reading) int64 { return r.Origin }, v.Readings, readingQueries())
	compareTimes(t, h, "data events", h.state.DataEvents, func(e domain.DataEvent) int64 { return e.Origin },
		func(p Page, fs ...Filter) ([]domain.DataEvent, int, error) { return pageOf(v, dataEvents, p, fs) }, dataEventQueries())
	compareNumbers(t, h, v)
	sameTable(t, "readings", h.state.Readings, v.State.Readings)
	sameTable(t, "data events", h.state.DataEvents, v.DataEvents)
	sameTable(t, "cleanups", h.state.Cleanups, v.Cleanups)
}

// compareNumbers compares the numbers of each resource of each device with those of its list.
func compareNumbers(t *testing.T, h *history, v *View) {
	t.Helper()
	for n := range 12 {
		s := domain.Series{Device: fmt.Sprint("d", n%4), Resource: fmt.Sprint("r", n/4), From: math.MinInt64, To: math.MaxInt64}
		of := func(r domain.Reading) bool { return r.Device == s.Device && r.Resource == s.Resource }
		var want, got []string
		for _, r := range expect(h, "readings", h.state.Readings, func(r domain.Reading) int64 { return r.Origin }, of) {
			number, ok := r.Number()
			if !ok {
				number = math.NaN()
			}
			want = append(want, fmt.Sprint(r.Origin, " ", number))
		}
		slices.Reverse(want)
		_, err := v.Numbers(s, "", 1<<20, func(origin int64, number float64) { got = append(got, fmt.Sprint(origin, " ", number)) })
		must(t, err)
		if !slices.Equal(got, want) {
			t.Fatalf("numbers of %s of %s: got %v, want %v", s.Resource, s.Device, got, want)
		}
	}
}

// Lists of readings, and what they count, are right while readings come, go by request, are forgotten and read again.
func TestListsOfReadings(t *testing.T) {
	short(t)
	for seed := range uint64(2) {
		f, h := MustOpen(t, Readings), newHistory(seed)
		for range 4 {
			from := len(h.events)
			for range 60 {
				h.reading()
				if h.IntN(10) == 0 {
					h.removedReadings()
				}
			}
			f.feed(t, 1+h.IntN(40), h.events[from:]...)
			f.compareReadings(t, h)
		}
		sameDump(t, f.mustDump(t), rebuilt(t, Readings, h.events))
		first := len(h.events) / 3
		_, err := f.Forget(t.Context(), uint64(first))
		must(t, err)
		f.sinceFirst(t, first, h.events)
		h.forget(first)
		f.compareReadings(t, h)
		f.reopen(t, direct)
		f.compareReadings(t, h)
		f.startAgain(t, h.events)
	}
}

// forget makes the history begin at an event.
func (h *history) forget(first int) {
	h.state = domain.NewMapState()
	h.events = h.events[first-1:]
	for _, e := range h.events {
		e.Event.Evolve(h.state)
	}
}

// The same events lead to the same file, in batches of whatever size, live or from the log.
func TestBatchSizes(t *testing.T) {
	short(t)
	h := newHistory(42)
	for range 500 {
		h.metadata()
	}
	want := rebuilt(t, Events, h.events)
	for _, size := range []int{1, 2, 7, 100, 499} {
		for _, l := range []fold.Limits{{}, direct, {After: time.Millisecond, Events: 8}, {After: time.Hour, Bytes: 5 << 10}} {
			f := MustOpen(t, Events)
			f.reopen(t, l)
			f.feed(t, size, h.events...)
			s, release := f.State()
			sameTables(t, h.state, s)
			release()
			sameDump(t, f.mustDump(t), want)
		}
	}
}

// What a command made live is in the file as it is after its way through the log.
func TestLiveAndFromTheLog(t *testing.T) {
	d := camera(1)
	d.Location = json.RawMessage("{ \"html\": \"<b>\",\n \"n\": 1.50 }")
	d.Protocols["empty"] = map[string]string{}
	p := domain.Profile{ID: "p", Name: "p", Labels: []string{}, DeviceResources: []domain.DeviceResource{
		{Name: "r", Attributes: map[string]any{"int": 5, "float": 5.5, "list": []any{1, "a", nil}, "map": map[string]any{"k": int64(7)}}},
		{Name: "none"}, {Name: "empty", Attributes: map[string]any{}},
	}}
	events := record(1, domain.DeviceAdded{Device: d}, domain.ProfileAdded{Profile: p})
	f := MustOpen(t, Events)
	f.feed(t, 1, events...)
	sameDump(t, f.mustDump(t), rebuilt(t, Events, throughTheLog(t, events)))
	s, release := f.State()
	defer release()
	if got, _ := s.Devices.Get(d.Name); string(got.Location) != `{"html":"\u003cb\u003e","n":1.50}` {
		t.Errorf("location: got %s", got.Location)
	}
	got, _ := s.Profiles.Get("p")
	want := map[string]any{"int": 5.0, "float": 5.5, "list": []any{1.0, "a", nil}, "map": map[string]any{"k": 7.0}}
	if !reflect.DeepEqual(got.DeviceResources[0].Attributes, want) {
		t.Errorf("attributes: got %#v, want %#v", got.DeviceResources[0].Attributes, want)
	}
}

func throughTheLog(t *testing.T, events []domain.Recorded) []domain.Recorded {
	t.Helper()
	again := slices.Clone(events)
	for i := range again {
		w, err := domain.Encode(again[i].Event)
		if err != nil {
			t.Fatal(err)
		}
		if again[i].Event, err = domain.Decode(w); err != nil {
			t.Fatal(err)
		}
	}
	return again
}
