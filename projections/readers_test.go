package projections

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"ledge/domain"
)

// A reader sees one checkpoint, whole, while events are applied and the file grows under it.
func TestReadersDuringApply(t *testing.T) {
	f := MustOpen(t, Events)
	events := cameras(800)
	f.feed(t, 1, events[0])
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				v, release := f.View()
				list, total, err := v.Devices(Page{Offset: 0, Limit: 5})
				seq, _ := v.Checkpoint() // after the list, which may move it
				_, found := v.State.Devices.Get(camera(int(seq - 1)).Name)
				_, early := v.State.Devices.Get(camera(int(seq)).Name)
				uses, _ := v.Uses.Get("service/" + domain.DeviceREST)
				release()
				if err != nil || total != int(seq) || uses != total || !found || early || list[0].Name != camera(int(seq-1)).Name {
					t.Errorf("at %d: %d devices, %d uses, newest %s, found %t, found next %t, %v", seq, total, uses, list[0].Name, found, early, err)
					return
				}
				if int(seq) == len(events) {
					return
				}
			}
		})
	}
	rest := events[1:]
	for batch := range slices.Chunk(rest, 17) {
		f.feed(t, len(batch), batch...)
		f.total(t, "devices")
	}
	readers.Wait()
}

// What was read stays what it was after the release, when the pages it came from are used for something else.
func TestValuesOutliveTheirView(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 50, cameras(50)...)
	v, release := f.View()
	one, _ := v.State.Devices.Get(camera(3).Name)
	list, _, err := v.Devices(Page{Offset: 0, Limit: -1})
	must(t, err)
	release()
	release() // twice is once
	for n := range 50 {
		d := camera(n)
		d.Description, d.Labels = strings.Repeat("x", 200), []string{"other"}
		f.add(t, domain.DeviceUpdated{Device: d})
	}
	if got, want := asJSON(one), asJSON(camera(3)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for i, d := range list {
		if got, want := asJSON(d), asJSON(camera(49-i)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestStateIsForReading(t *testing.T) {
	f := MustOpen(t, Events)
	s, release := f.State()
	defer release()
	if recovered(func() { s.Devices.Put("a", domain.Device{}) }) == nil {
		t.Error("put: no panic")
	}
	if recovered(func() { s.Devices.Delete("a") }) == nil {
		t.Error("delete: no panic")
	}
	if s.Notifications != nil || s.Readings != nil || s.Cursors != nil {
		t.Error("tables of other streams are not nil")
	}
}

// Names and values of any length can be applied, found and told apart.
func TestLongNames(t *testing.T) {
	f := MustOpen(t, Events)
	long := func(last string, n int) string { return strings.Repeat("n", n-1) + last }
	for i, n := range []int{255 - 1, 255, 255 + 1, 1023, 1023 + 1, 40_000} {
		for _, last := range []string{"a", "b"} {
			d := camera(i)
			d.ID, d.Name, d.Labels, d.Modified = uuid(last, n), long(last, n), []string{long(last, n)}, 7
			f.add(t, domain.DeviceAdded{Device: d})
		}
	}
	f.add(t, domain.DeviceAdded{Device: domain.Device{}}) // no name at all
	v, release := f.View()
	defer release()
	for _, n := range []int{255 - 1, 255, 255 + 1, 1023, 1023 + 1, 40_000} {
		for _, last := range []string{"a", "b"} {
			name := long(last, n)
			if d, ok := v.State.Devices.Get(name); !ok || d.Name != name {
				t.Errorf("%d%s: found %t", n, last, ok)
			}
			if list, total, err := v.Devices(Page{Offset: 0, Limit: -1}, Label(name)); err != nil || total != 1 || list[0].Name != name {
				t.Errorf("%d%s: %d by label, %v", n, last, total, err)
			}
		}
	}
}

func TestUnknownIndex(t *testing.T) {
	f := MustOpen(t, Events)
	v, release := f.View()
	defer release()
	for _, test := range []struct {
		filters []Filter
		want    string
	}{
		{[]Filter{Receiver("a")}, `list devices: there is no index "receiver"`},
		{[]Filter{Between(1, 2)}, `list devices: there is no index by time`},
		{[]Filter{{}}, `list devices: there is no index ""`},
	} {
		if _, _, err := v.Devices(Page{Offset: 0, Limit: 1}, test.filters...); message(err) != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	if _, _, err := v.Services(Page{Offset: 0, Limit: -1}, Label("a"), Label("b")); err != nil {
		t.Error(err)
	}
}

func TestWait(t *testing.T) {
	f := MustOpen(t, Events)
	events := cameras(10)
	must(t, f.Wait(t.Context(), 0))
	done := make(chan error, 10)
	for seq := range uint64(10) {
		go func() { done <- f.Wait(context.Background(), seq+1) }()
	}
	f.feed(t, 3, events...)
	for range 10 {
		must(t, <-done)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the request ended")
	go func() { done <- f.Wait(ctx, 11) }()
	cancel(over)
	if err := <-done; err != over {
		t.Errorf("got %v, want %v", err, over)
	}
	d := f.DB
	go func() { done <- d.Wait(context.Background(), 11) }()
	must(t, d.Close())
	if err := <-done; err != ErrClosed {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
	f.open(t)
}

// A page without a limit of its own ends at the longest one; its total says that there is more.
func TestMaxPage(t *testing.T) {
	f := MustOpen(t, Events)
	const all = maxPage + 3
	f.feed(t, all, cameras(all)...)
	v, release := f.View()
	defer release()
	for _, test := range []struct {
		page Page
		want int
	}{
		{Page{Offset: 0, Limit: -1}, maxPage}, {Page{Offset: 5, Limit: -1}, all - 5}, {Page{Offset: 0, Limit: maxPage + 2}, maxPage + 2},
		{Page{Offset: 0, Limit: 2 * maxPage}, all}, {Page{Offset: -3, Limit: 2}, 2},
	} {
		list, total, err := v.Devices(test.page)
		if err != nil || len(list) != test.want || total != all {
			t.Errorf("%+v: %d of %d, %v; want %d", test.page, len(list), total, err, test.want)
		}
	}
}
