package projections

import (
	"fmt"
	"slices"
	"testing"

	"ledge/domain"
)

// Several filters are answered alike whether the other ranges are walked or looked up, from whichever end.
func TestSeveralFilters(t *testing.T) {
	f := MustOpen(t, Events)
	var newest []domain.Device
	for n := range 400 {
		d := camera(n)
		d.Labels = []string{"every"}
		for label, has := range map[string]bool{"even": n%2 == 0, "odd": n%2 == 1, "third": n%3 == 0, "old": n < 150, "seldom": n%50 == 8} {
			if has {
				d.Labels = append(d.Labels, label)
			}
		}
		f.add(t, domain.DeviceAdded{Device: d})
		newest = append([]domain.Device{d}, newest...)
	}
	for _, labels := range [][]string{
		{"every", "even"}, {"even", "third"}, {"third", "every", "even"}, {"even", "odd"}, {"old", "third"}, {"third", "old"},
		{"every", "seldom"}, {"seldom", "third", "every"}, {"every", "nosuch"}, {"even", "even", "every", "every"},
	} {
		want := slices.DeleteFunc(slices.Clone(newest), func(d domain.Device) bool {
			return slices.ContainsFunc(labels, func(l string) bool { return !has(d.Labels, l) })
		})
		filters := make([]Filter, len(labels))
		for i, label := range labels {
			filters[i] = Label(label)
		}
		v, release := f.View()
		compare(t, fmt.Sprint(labels), want, v.Devices, filters)
		release()
	}
}

// Lookups of entries that come in order allocate nothing for each.
func TestSeveralFiltersInLittleMemory(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 500, cameras(2000)...)
	v, release := f.View()
	defer release()
	_, total, err := v.Devices(Page{Limit: 1}, Label("camera"), ByService(domain.DeviceREST))
	if total != 2000 || err != nil {
		t.Fatal(total, err)
	}
	got := testing.AllocsPerRun(5, func() {
		_, _, _ = v.Devices(Page{Limit: 1}, Label("camera"), ByService(domain.DeviceREST))
	})
	if got > 200 {
		t.Errorf("%.0f allocations for a page of one device of 2,000", got)
	}
}

// Totals follow each change, also one that moves no checkpoint.
func TestTotalsFollowTheFile(t *testing.T) {
	f := MustOpen(t, Notifications)
	events := record(1)
	for n := range 10 {
		events = append(events, recorded(uint64(n+1), domain.NotificationAdded{Notification: domain.Notification{
			ID: uuid("n", n), Created: int64(n), Modified: int64(n), Category: "c", Labels: []string{"a"}, Status: "NEW",
		}}))
	}
	expect := func(want int) {
		t.Helper()
		v, release := f.View()
		defer release()
		list, total, err := v.Notifications(Page{Limit: 20}, Label("a"), Status("NEW"))
		if err != nil || total != want || len(list) != want {
			t.Errorf("got %d of %d, %v, want %d", len(list), total, err, want)
		}
	}
	must(t, f.Apply(events[:7]))
	expect(7)
	must(t, f.Apply(events[7:]))
	expect(10)
	_, err := f.Forget(t.Context(), 5)
	must(t, err)
	expect(6)
	f.startAgain(t, events)
}
