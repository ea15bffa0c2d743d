package handlerstest

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/projections"
)

// listScenario is one question to a list and what it must answer.
type listScenario struct {
	list    string
	page    domain.Page
	filters []domain.Filter
	names   []string
	total   int
	err     string
}

var everything = domain.Page{Limit: 100}

// by is one filter, or several: by("label", "a", "label", "b").
func by(pairs ...string) (fs []domain.Filter) {
	for pair := range slices.Chunk(pairs, 2) {
		fs = append(fs, domain.Filter{Index: pair[0], Value: pair[1]})
	}
	return fs
}

const beyond = "query objects bounds out of range. length:"

var listScenarios = []listScenario{
	// d-4 is as old as d-2 and d-3, and was put later; d-1 was changed after them.
	{"devices", everything, nil, []string{"d-1", "d-4", "d-3", "d-2", "d-0"}, 5, ""},
	{"devices", domain.Page{Limit: -1}, nil, []string{"d-1", "d-4", "d-3", "d-2", "d-0"}, 5, ""},
	{"devices", domain.Page{Offset: 1, Limit: -1}, nil, []string{"d-4", "d-3", "d-2", "d-0"}, 5, ""},
	{"devices", domain.Page{Offset: 1, Limit: 2}, nil, []string{"d-4", "d-3"}, 5, ""},
	{"devices", domain.Page{Offset: 3, Limit: 9}, nil, []string{"d-2", "d-0"}, 5, ""},
	{"devices", domain.Page{Offset: -1, Limit: 1}, nil, []string{"d-1"}, 5, ""},
	{"devices", domain.Page{}, nil, nil, 5, ""},
	{"devices", domain.Page{Offset: 5, Limit: 9}, nil, nil, 5, ""},
	{"devices", domain.Page{Offset: 5, Limit: -1}, nil, nil, 5, ""},
	{"devices", domain.Page{Offset: 6, Limit: 9}, nil, nil, 5, beyond + "5"},
	{"devices", domain.Page{Offset: 6, Limit: -1}, nil, nil, 5, beyond + "5"},
	{"devices", domain.Page{Offset: 6}, nil, nil, 5, ""},
	{"devices", everything, by("label", "even"), []string{"d-4", "d-2", "d-0"}, 3, ""},
	{"devices", domain.Page{Offset: 1, Limit: 1}, by("label", "even"), []string{"d-2"}, 3, ""},
	{"devices", domain.Page{Offset: 4, Limit: 1}, by("label", "even"), nil, 3, beyond + "3"},
	{"devices", everything, by("label", "even", "label", "all"), []string{"d-4", "d-2", "d-0"}, 3, ""},
	{"devices", domain.Page{Offset: 4, Limit: 1}, by("label", "even", "label", "all"), nil, 3, beyond + "3"},
	{"devices", domain.Page{Offset: 4}, by("label", "even", "label", "all"), nil, 3, ""},
	{"devices", everything, by("label", "even", "label", "even"), []string{"d-4", "d-2", "d-0"}, 3, ""},
	{"devices", everything, by("label", "gone"), nil, 0, ""},
	{"devices", domain.Page{Offset: 1, Limit: 1}, by("label", "gone"), nil, 0, beyond + "0"},
	{"devices", everything, by("label", ""), nil, 0, ""},
	{"devices", everything, by("profile", "p-1"), []string{"d-1", "d-3"}, 2, ""},
	{"devices", everything, by("profile", "p-0", "service", "s-0", "label", "even"), []string{"d-4", "d-2", "d-0"}, 3, ""},
	{"devices", everything, by("service", "nosuch"), nil, 0, ""},
	{"devices", everything, by("model", "m"), nil, 0, `list devices: there is no index "model"`},
	{"devices", everything, by("label", "even", "", ""), nil, 0, `list devices: there is no index ""`},
	{"profiles", everything, nil, []string{"p-1", "p-0"}, 2, ""},
	{"profiles", everything, by("manufacturer", "made"), []string{"p-1", "p-0"}, 2, ""},
	{"profiles", everything, by("manufacturer", "made", "model", "m-0"), []string{"p-0"}, 1, ""},
	{"profiles", everything, by("label", "l-1"), []string{"p-1"}, 1, ""},
	{"profiles", everything, by("profile", "p-1"), nil, 0, `list profiles: there is no index "profile"`},
	{"services", everything, nil, []string{"s-0"}, 1, ""},
	{"services", everything, by("label", "rest"), []string{"s-0"}, 1, ""},
	{"services", everything, by("service", "s-0"), nil, 0, `list services: there is no index "service"`},
	{"watchers", everything, nil, []string{"w-0", "w-1"}, 2, ""},
	{"watchers", everything, by("label", "l-1"), []string{"w-1"}, 1, ""},
	{"watchers", everything, by("profile", "p-0", "service", "s-0"), []string{"w-0"}, 1, ""},
	{"watchers", everything, by("service", "s-0"), []string{"w-0", "w-1"}, 2, ""},
	{"watchers", everything, by("model", "m"), nil, 0, `list watchers: there is no index "model"`},
	{"subscriptions", everything, nil, []string{"n-1", "n-0"}, 2, ""},
	{"subscriptions", everything, by("category", "FIRE"), []string{"n-1", "n-0"}, 2, ""},
	{"subscriptions", everything, by("category", "FLOOD", "label", "l-1"), []string{"n-1"}, 1, ""},
	{"subscriptions", everything, by("receiver", "r-0"), []string{"n-0"}, 1, ""},
	{"subscriptions", everything, by("status", "NEW"), nil, 0, `list subscriptions: there is no index "status"`},
}

// givenLists returns a log with what the scenarios list.
func givenLists(tb testing.TB) *Log {
	tb.Helper()
	log := NewLog()
	id := 0
	nextID := func() string { id++; return ID(id) }
	log.Given(tb, domain.AddService{Service: domain.DeviceService{
		ID: nextID(), Name: "s-0", BaseAddress: "http://h:1", AdminState: "UNLOCKED", Labels: []string{"rest"}, Modified: 1,
	}})
	for i := range 2 {
		n := fmt.Sprint(i)
		log.Given(tb, domain.AddProfile{Profile: domain.Profile{
			ID: nextID(), Name: "p-" + n, Manufacturer: "made", Model: "m-" + n, Labels: []string{"l-" + n}, Modified: 1,
		}}, domain.AddSubscription{Subscription: domain.Subscription{
			ID: nextID(), Name: "n-" + n, Receiver: "r-" + n, Labels: []string{"l-" + n}, Categories: []string{"FIRE", "FLOOD"}[:1+i],
			AdminState: "UNLOCKED", Channels: []domain.Channel{{Type: "ZeroMQ", Host: "*", Port: 5563, Topic: "t"}}, Modified: 1,
		}}, domain.AddWatcher{Watcher: domain.ProvisionWatcher{
			ID: nextID(), Name: "w-" + n, Identifiers: map[string]string{"a": "b"}, Labels: []string{"l-" + n}, ServiceName: "s-0", ProfileName: "p-" + n,
			AdminState: "UNLOCKED", Modified: 9 - int64(i),
		}})
	}
	for i, modified := range []int64{-5, 7, 8, 8, 8, 9} {
		labels := []string{"all", []string{"even", "odd"}[i%2], "gone"}
		log.Given(tb, domain.AddDevice{Device: domain.Device{
			ID: nextID(), Name: fmt.Sprint("d-", i), AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "s-0", ProfileName: fmt.Sprint("p-", i%2),
			ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}}, Labels: labels, Modified: modified,
		}}, domain.UpdateDevice{At: modified, Patch: domain.PatchOf[domain.Device]("name", fmt.Sprint("d-", i), "labels", labels[:2])})
	}
	described := domain.PatchOf[domain.Device]("name", "d-1", "description", "new")
	log.Given(tb, domain.RemoveDevice{Name: "d-5"}, domain.UpdateDevice{At: 9, Patch: described})
	return log
}

// mustProject returns the lists of projections on what is on the log.
func mustProject(tb testing.TB, log *Log, tables projections.Tables) *projections.View {
	tb.Helper()
	d, err := projections.Open(projections.Options{
		Path: filepath.Join(tb.TempDir(), "state.db"), Tables: tables,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	if err := d.Apply(log.Recorded()); err != nil {
		tb.Fatal(err)
	}
	v, release := d.View()
	tb.Cleanup(release)
	return v
}

// The lists in memory answer what those of projections do.
func TestLists(t *testing.T) {
	log := givenLists(t)
	sameLists(t, log, projections.Events, listScenarios)
}

func sameLists(t *testing.T, log *Log, tables projections.Tables, scenarios []listScenario) {
	t.Helper()
	inMemory, release := log.View()
	release() // nothing is recorded any more
	for name, l := range map[string]domain.Lists{"in memory": inMemory.Lists, "projections": mustProject(t, log, tables)} {
		for _, s := range scenarios {
			got, total, err := s.ask(l)
			if !slices.Equal(got, s.names) || total != s.total || message(err) != s.err {
				t.Errorf("%s: %s %+v %v:\n got %v of %d, error %q\nwant %v of %d, error %q",
					name, s.list, s.page, s.filters, got, total, message(err), s.names, s.total, s.err)
			}
			if strings.HasPrefix(s.err, beyond) && domain.CodeOf(err) != domain.OutOfRange {
				t.Errorf("%s: %s %+v: got code %d", name, s.list, s.page, domain.CodeOf(err))
			}
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (s listScenario) ask(l domain.Lists) ([]string, int, error) {
	switch s.list {
	case "devices":
		return named(func(d domain.Device) string { return d.Name })(l.Devices(s.page, s.filters...))
	case "profiles":
		return named(func(d domain.Profile) string { return d.Name })(l.Profiles(s.page, s.filters...))
	case "watchers":
		return named(func(d domain.ProvisionWatcher) string { return d.Name })(l.Watchers(s.page, s.filters...))
	case "services":
		return named(func(d domain.DeviceService) string { return d.Name })(l.Services(s.page, s.filters...))
	case "notifications":
		return named(func(d domain.Notification) string { return d.Content })(l.Notifications(s.page, s.filters...))
	case "transmissions":
		return named(func(d domain.Transmission) string { return d.SubscriptionName })(l.Transmissions(s.page, s.filters...))
	default:
		return named(func(d domain.Subscription) string { return d.Name })(l.Subscriptions(s.page, s.filters...))
	}
}

// named replaces the entities of an answer by their names.
func named[S any](name func(S) string) func([]S, int, error) ([]string, int, error) {
	return func(list []S, total int, err error) (names []string, _ int, _ error) {
		for _, s := range list {
			names = append(names, name(s))
		}
		return names, total, err
	}
}

var (
	acknowledged    = domain.Filter{Index: domain.IndexAcknowledged, Value: domain.Acknowledged}
	notAcknowledged = domain.Filter{Index: domain.IndexAcknowledged, Value: domain.Acknowledged, Without: true}
	fireOrFlood     = domain.Filter{Index: domain.IndexCategory, Any: []string{"FIRE", "FLOOD", ""}}
)

// n-0 to n-3 were made in that order, at 10 to 13, and changed in another: n-1, at 20, before n-0, at 30.
var noticeScenarios = []listScenario{
	{"notifications", everything, nil, []string{"n-0", "n-1", "n-3", "n-2"}, 4, ""},
	{"notifications", everything, by("category", "FIRE"), []string{"n-0", "n-2"}, 2, ""},
	{"notifications", everything, by("status", "NEW", "label", "l"), []string{"n-3", "n-2"}, 2, ""},
	{"notifications", everything, by("subscription", "s-1"), []string{"n-1"}, 1, ""},
	{"notifications", everything, []domain.Filter{domain.Between(11, 13)}, []string{"n-3", "n-2", "n-1"}, 3, ""},
	{"notifications", domain.Page{Offset: 1, Limit: 1}, []domain.Filter{domain.Between(11, 13)}, []string{"n-2"}, 3, ""},
	{"notifications", domain.Page{Offset: 4, Limit: 1}, []domain.Filter{domain.Between(11, 13)}, nil, 3, beyond + "3"},
	{"notifications", everything, []domain.Filter{acknowledged}, []string{"n-0"}, 1, ""},
	{"notifications", everything, []domain.Filter{notAcknowledged}, []string{"n-1", "n-3", "n-2"}, 3, ""},
	{"notifications", everything, []domain.Filter{fireOrFlood}, []string{"n-0", "n-1", "n-2"}, 3, ""},
	{"notifications", everything, []domain.Filter{fireOrFlood, notAcknowledged, domain.Between(0, 12)}, []string{"n-2", "n-1"}, 2, ""},
	{"notifications", everything, by("device", "d"), nil, 0, `list notifications: there is no index "device"`},
	{"transmissions", everything, nil, []string{"s-2", "s-1", "s-0"}, 3, ""},
	{"transmissions", everything, by("status", "SENT"), []string{"s-2", "s-0"}, 2, ""},
	{"transmissions", everything, by("notification", ID(101)), []string{"s-2", "s-1"}, 2, ""},
	{"transmissions", everything, by("subscription", "s-1"), []string{"s-1"}, 1, ""},
	{"transmissions", everything, []domain.Filter{domain.Between(30, 30)}, []string{"s-0"}, 1, ""},
	{"transmissions", everything, by("category", "c"), nil, 0, `list transmissions: there is no index "category"`},
}

func TestNotificationLists(t *testing.T) {
	log := NewLog()
	for i := range 4 {
		log.Given(t, domain.AddNotification{Notification: domain.Notification{
			ID: ID(100 + i), Category: []string{"FIRE", "FLOOD", "FIRE", "c"}[i], Labels: []string{"l"}, Content: fmt.Sprint("n-", i), Sender: "me",
			Severity: "NORMAL", Status: "NEW", Acknowledged: i == 0, Created: int64(10 + i), Modified: int64(10 + i),
		}})
	}
	sent := func(of, n int, at int64, status string) domain.Transmission {
		return domain.Transmission{ID: ID(200 + n), NotificationID: ID(100 + of), SubscriptionName: fmt.Sprint("s-", n), Status: status, Created: at}
	}
	log.Given(t,
		domain.ProcessNotification{ID: ID(100), At: 30, Transmissions: []domain.Transmission{sent(0, 0, 30, "SENT")}},
		domain.ProcessNotification{ID: ID(101), At: 20, Matched: []string{"s-1"}, Transmissions: []domain.Transmission{sent(1, 1, 31, "FAILED"), sent(1, 2, 31, "SENT")}})
	sameLists(t, log, projections.Notifications, noticeScenarios)
}

// TestNumbers reads series in parts of one value, two and all.
func TestNumbers(t *testing.T) {
	log := NewLog()
	post := func(n int, resource, valueType, text string, origin int64) {
		r := domain.Reading{
			ID: ID(300 + n), Event: ID(400 + n), Profile: "p", Device: "d", Resource: resource,
			ValueType: valueType, Size: 1, Origin: origin, Text: text,
		}
		log.Given(t, domain.PostReading{Reading: domain.ReadingPosted{Reading: r}})
	}
	post(0, "r", "Int8", "-5", 30)
	post(1, "r", "Float64", "2.5e+00", 10)
	post(2, "r", "String", "7", 20)
	post(3, "r", "Uint64", "7", 20)
	post(4, "r", "Float32", "NaN", 40)
	post(5, "other", "Int8", "1", 20)
	log.Given(t, domain.RemoveDataEvent{ID: ID(403)})
	inMemory, release := log.View()
	release() // nothing is recorded any more
	for name, l := range map[string]domain.Lists{"in memory": inMemory.Lists, "projections": mustProject(t, log, projections.Readings)} {
		for _, one := range []struct {
			resource string
			from, to int64
			want     string
		}{
			{"r", math.MinInt64, math.MaxInt64, "10:2.5 20:NaN 30:-5 40:NaN"},
			{"r", 10, 30, "10:2.5 20:NaN 30:-5"},
			{"r", 11, 29, "20:NaN"},
			{"r", 41, 99, ""},
			{"other", 0, 99, "20:1"},
			{"nosuch", 0, 99, ""},
		} {
			for _, most := range []int{1, 2, 100} {
				var got []string
				for next := ""; ; {
					n := len(got)
					var err error
					s := domain.Series{Device: "d", Resource: one.resource, From: one.from, To: one.to}
					next, err = l.Numbers(s, next, most, func(at int64, number float64) {
						got = append(got, fmt.Sprintf("%d:%v", at, number))
					})
					if err != nil || len(got)-n > most {
						t.Fatalf("%s: %d values of %d, %v", name, len(got)-n, most, err)
					}
					if next == "" {
						break
					}
				}
				if text := strings.Join(got, " "); text != one.want {
					t.Errorf("%s: %s from %d to %d, %d at a time: got %s, want %s",
						name, one.resource, one.from, one.to, most, text, one.want)
				}
			}
		}
	}
}
