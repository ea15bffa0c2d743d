package devicesearch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

// logChanges is the log of changes of a handlerstest.Log.
type logChanges struct{ log *handlerstest.Log }

func (l logChanges) Last() uint64 { return uint64(len(l.log.Recorded())) }

func (l logChanges) At(_ context.Context, seq uint64) (domain.Recorded, bool, error) {
	return l.log.Recorded()[seq-1], true, nil
}

func (l logChanges) Read(_ context.Context, from, to uint64, f func(domain.Recorded) error) error {
	for _, r := range l.log.Recorded()[from-1 : to] {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func mustIndex(tb testing.TB) (*Index, *handlerstest.Log) {
	tb.Helper()
	log := handlerstest.NewLog()
	log.Given(tb,
		domain.AddService{Service: domain.DeviceService{ID: handlerstest.ID(1), Name: "s", BaseAddress: "http://localhost:1", AdminState: "UNLOCKED"}},
		domain.AddProfile{Profile: domain.Profile{ID: handlerstest.ID(2), Name: "p"}})
	d := New(log.View, logChanges{log})
	tb.Cleanup(d.Drop)
	return d, log
}

func addListed(n int) domain.Command {
	return domain.AddDevice{Device: domain.Device{
		ID: handlerstest.ID(1000 + n), Name: fmt.Sprintf("d-%03d", n), AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "s", ProfileName: "p",
		Labels: []string{fmt.Sprintf("row-%d", n%2)}, Protocols: map[string]map[string]string{"other": {}}, Modified: int64(100 - n),
	}}
}

func (d *Index) names(tb testing.TB, q Query) string {
	tb.Helper()
	f, err := d.Find(tb.Context(), q)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, l := range f.Devices {
		names = append(names, l.Name)
	}
	return strings.Join(names, " ")
}

// TestIndexFollowsTheLog finds what was added, changed and removed since the query before, also after it was dropped.
func TestIndexFollowsTheLog(t *testing.T) {
	d, log := mustIndex(t)
	all := Query{Limit: 10}
	if got := d.names(t, all); got != "" {
		t.Errorf("without devices: %q", got)
	}
	log.Given(t, addListed(1), addListed(2), addListed(3))
	if got := d.names(t, all); got != "d-001 d-002 d-003" {
		t.Errorf("after three were added: %q", got)
	}
	fresh := domain.PatchOf[domain.Device]("name", "d-002", "labels", []string{"Fresh"})
	log.Given(t, domain.RemoveDevice{Name: "d-001"}, domain.UpdateDevice{Patch: fresh, At: 500})
	for range 2 {
		if got := d.names(t, all); got != "d-002 d-003" {
			t.Errorf("after one was removed: %q", got)
		}
		if got := d.names(t, Query{Limit: 10, Filter: Parse("fresh")}); got != "d-002" {
			t.Errorf("after one was changed: %q", got)
		}
		if got := d.names(t, Query{Limit: 1, Sort: "changed"}); got != "d-002" {
			t.Errorf("the last change: %q", got)
		}
		d.Drop()
	}
}

// TestIndexIsDropped ends an index as its timer does, and holds that nothing of it is left.
func TestIndexIsDropped(t *testing.T) {
	d, log := mustIndex(t)
	log.Given(t, addListed(1))
	d.names(t, Query{Limit: 1})
	if d.end == nil || len(d.devices) != 1 {
		t.Fatal("there is no index, or nothing ends it")
	}
	if !d.end.Reset(0) {
		t.Fatal("the end has come already")
	}
	for deadline := time.Now().Add(time.Minute); ; { // the timer runs drop in a goroutine of its own
		d.mu.RLock()
		gone := !d.loaded && d.devices == nil && d.sorted == 0 && d.shared == nil
		d.mu.RUnlock()
		if gone {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the index is still there after a minute")
		}
		runtime.Gosched()
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestIndexIsBounded puts more devices into an index than it holds. Their names are parts of longer texts, as those of decoded devices are.
func TestIndexIsBounded(t *testing.T) {
	before := heap()
	d := &Index{shared: map[string]string{}, loaded: true}
	rest := strings.Repeat(" ", 1000)
	for n := range mostListed + 10 {
		name := fmt.Sprint("d-", n)
		d.put(domain.Device{Name: (name + rest)[:len(name)], Labels: []string{fmt.Sprint("l-", n)}}, 0)
	}
	if each := (heap() - before) / mostListed; each > 500 {
		t.Errorf("it holds %d bytes for each device, want about 400", each)
	}
	if len(d.devices) != mostListed || len(d.shared) > mostListed {
		t.Errorf("it holds %d devices and %d texts, want %d", len(d.devices), len(d.shared), mostListed)
	}
	d.sort()
	d.remove("d-5")
	d.put(domain.Device{Name: "another"}, 0)
	d.sort()
	if _, known := d.at("another"); !known || len(d.devices) != mostListed {
		t.Error("the place of a device that is gone is not used again")
	}
}

// TestIndexOfLongTexts puts devices with many labels into an index: each keeps the first ones, and counts as several devices.
func TestIndexOfLongTexts(t *testing.T) {
	d := &Index{shared: map[string]string{}, loaded: true}
	labels := slices.Repeat([]string{strings.Repeat("x", 100)}, 1000)
	put := func(name string) { d.put(domain.Device{Name: name, Labels: labels}, 0); d.sort() }
	put("d-1")
	if l := d.devices[0]; len(l.Labels) != mostLabelBytes/100 || l.Left != 1000-mostLabelBytes/100 || d.weight != 1+len(l.text)/usualText {
		t.Errorf("%d labels, %d left, weight %d", len(l.Labels), l.Left, d.weight)
	}
	one := d.weight
	put("d-1")
	put("d-2")
	d.remove("d-1")
	if d.weight != one {
		t.Errorf("weight %d, want that of one device, %d", d.weight, one)
	}
	put("d-1")
	d.weight = mostListed - one + 1
	put("d-3")
	if len(d.devices) != 2 {
		t.Errorf("%d devices, want 2: there is no room for another", len(d.devices))
	}
}

// TestIndexPages walks all pages forth and back in each order.
func TestIndexPages(t *testing.T) {
	d, log := mustIndex(t)
	for n := range 25 {
		log.Given(t, addListed(n))
	}
	for _, sort := range []string{"", "name", "-name", "changed", "-changed", "profile", "service", "state", "-state"} {
		var forth []string
		q := Query{Sort: sort, Limit: 7}
		var last Result
		for {
			f, err := d.Find(t.Context(), q)
			if err != nil || f.Matched != 25 {
				t.Fatal(err, f.Matched)
			}
			for _, l := range f.Devices {
				forth = append(forth, l.Name)
			}
			last = f
			if q.After = f.Next; q.After == "" {
				break
			}
		}
		if n := len(slices.Compact(slices.Sorted(slices.Values(forth)))); len(forth) != 25 || n != 25 {
			t.Errorf("sort %q: %d rows, %d devices", sort, len(forth), n)
		}
		q = Query{Sort: sort, Limit: 7, Before: last.Previous}
		if got := d.names(t, q); got != strings.Join(forth[14:21], " ") {
			t.Errorf("sort %q: back: %s", sort, got)
		}
	}
}

// TestIndexAgainstAModel adds, changes and removes devices at random between searches in each order, and compares with a plain sort.
func TestIndexAgainstAModel(t *testing.T) {
	d, log := mustIndex(t)
	there := map[int]bool{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		for range 1 + r.IntN(80) {
			n := r.IntN(400)
			if there[n] {
				log.Given(t, domain.RemoveDevice{Name: fmt.Sprintf("d-%03d", n)})
			} else {
				log.Given(t, addListed(n))
			}
			there[n] = !there[n]
		}
		var want []string
		for n, here := range there {
			if here {
				want = append(want, fmt.Sprintf("d-%03d", n))
			}
		}
		slices.Sort(want) // and by changed, newest first, as addListed makes them
		for _, sort := range []string{"", "-name", "changed", "-changed", "profile", "state"} {
			if strings.HasPrefix(sort, "-") {
				slices.Reverse(want)
			}
			var got []string
			q := Query{Sort: sort, Limit: 7}
			for page := 0; page == 0 || q.After != ""; page++ {
				f, err := d.Find(t.Context(), q)
				if err != nil || f.Matched != len(want) {
					t.Fatalf("sort %q: %d match, want %d; %v", sort, f.Matched, len(want), err)
				}
				for _, l := range f.Devices {
					got = append(got, l.Name)
				}
				q.After = f.Next
			}
			if !slices.Equal(got, want) {
				t.Fatalf("sort %q: got %v\nwant %v", sort, got, want)
			}
			if strings.HasPrefix(sort, "-") {
				slices.Reverse(want)
			}
		}
	}
}

func BenchmarkDirectory(b *testing.B) {
	d := &Index{shared: map[string]string{}, loaded: true}
	for n := range 100_000 {
		d.put(domain.Device{
			Name: fmt.Sprintf("building-%02d-sensor-%06d", n%40, n), ProfileName: "p", ServiceName: "s", Modified: int64(n * 7919 % 100_003),
			Labels: []string{fmt.Sprint("floor-", n%7)}, AdminState: "UNLOCKED", OperatingState: "UP",
		}, uint64(n))
	}
	d.sort()
	for _, q := range []Query{
		{}, {Filter: Parse("sensor 0999")}, {Sort: "changed", Filter: Parse("label:floor-3")}, {Sort: "-profile"}, {Filter: Parse("nothing")},
	} {
		q.Limit = 50
		b.Run(fmt.Sprintf("%s %s", q.Sort, q.Filter), func(b *testing.B) {
			for b.Loop() {
				q.search(d.devices)
			}
		})
	}
}
