package projections

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledge/domain"
	"ledge/projections/fold"
)

// tight makes every few events a flush.
var tight = fold.Limits{After: 100 * time.Microsecond, Events: 4}

// Nobody sees less than what was applied when he asked, whatever is being written.
func TestReadersSeeWhatWasApplied(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, tight)
	f.add(t, domain.DeviceAdded{Device: camera(1)})
	var applied, asked atomic.Int64
	var readers sync.WaitGroup
	const last = 3000
	changed := func(n int64) domain.Device {
		d := camera(1)
		d.Modified, d.ProfileName = d.Modified+n, "p"
		return d
	}
	check := func(what string, floor int64, d domain.Device, ok bool) bool {
		if got := d.Modified - camera(1).Modified; !ok || got < floor {
			t.Errorf("%s: got version %d %t, want at least %d", what, got, ok, floor)
			return false
		}
		asked.Add(1)
		return applied.Load() < last
	}
	for range 2 {
		readers.Go(func() {
			for more := true; more; {
				floor := applied.Load()
				s, release := f.State()
				d, ok := s.Devices.Get(camera(1).Name)
				n, _ := s.Uses.Get("service/" + domain.DeviceREST)
				release()
				if n != 1 {
					t.Errorf("%d uses, want 1", n)
				}
				more = check("state", floor, d, ok)
			}
		})
	}
	readers.Go(func() {
		for more := true; more; {
			floor := applied.Load()
			v, release := f.View()
			one, ok := v.State.Devices.Get(camera(1).Name)
			more = check("view", floor, one, ok)
			list, _, err := v.Devices(Page{Limit: 1})
			if err == nil && len(list) == 1 {
				more = check("list", floor, list[0], true) && more
				again, ok := v.State.Devices.Get(camera(1).Name)
				if !ok || again.Modified != list[0].Modified {
					t.Errorf("list has %d, get after it %d", list[0].Modified, again.Modified)
				}
			} else {
				t.Errorf("list: %d, %v", len(list), err)
			}
			release()
		}
	})
	for n := int64(1); n <= last; n++ {
		f.add(t, domain.DeviceUpdated{Device: changed(n)})
		applied.Store(n)
	}
	readers.Wait()
	if asked.Load() < 10 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// A State stays as of its checkpoint, whatever is applied and written after it.
func TestStateStays(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, fold.Limits{After: time.Hour})
	f.feed(t, 1, cameras(2)...)
	s, release := f.State()
	defer release()
	d := camera(1)
	d.Description = "changed"
	f.add(t, domain.DeviceUpdated{Device: d}, domain.DeviceRemoved{Device: camera(0)}, domain.DeviceAdded{Device: camera(3)})
	for range 2 {
		one, _ := s.Devices.Get(camera(1).Name)
		_, kept := s.Devices.Get(camera(0).Name)
		_, early := s.Devices.Get(camera(3).Name)
		if one.Description != camera(1).Description || !kept || early {
			t.Errorf("description %q, removed one there %t, later one there %t", one.Description, kept, early)
		}
		must(t, flush(f.DB))
	}
}

// Lists, totals and the file after Close have what was applied.
func TestListsAfterApply(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, fold.Limits{After: time.Hour})
	for n := range 5 {
		f.add(t, domain.DeviceAdded{Device: camera(n)})
		v, release := f.View()
		if seq, chain := v.Checkpoint(); int(seq) != n+1 || chain != chainOf(seq) {
			t.Errorf("view at %d", seq)
		}
		list, total, err := v.Devices(Page{Limit: 1})
		if err != nil || total != n+1 || list[0].Name != camera(n).Name {
			t.Errorf("%d: total %d, %v", n, total, err)
		}
		release()
	}
	f.add(t, domain.DeviceAdded{Device: camera(5)})
	if n := f.total(t, "devices"); n != 6 {
		t.Errorf("%d devices, want 6", n)
	}
	f.add(t, domain.DeviceAdded{Device: camera(6)})
	f.reopen(t, fold.Limits{})
	if seq, _ := f.Checkpoint(); seq != 7 {
		t.Errorf("after close: %d, want 7", seq)
	}
}

// An event whose entity cannot be encoded is an error, and leaves nothing.
func TestApplyOfNoJSON(t *testing.T) {
	f := MustOpen(t, Events)
	bad := camera(1)
	bad.Location = json.RawMessage("{")
	err := f.Apply(record(1, domain.DeviceAdded{Device: camera(0)}, domain.DeviceAdded{Device: bad}))
	if err == nil || !strings.Contains(err.Error(), "fold event 2: encode devices") {
		t.Errorf("got %v", err)
	}
	f.add(t, domain.DeviceAdded{Device: camera(0)})
}
