package projections

import (
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/projections/fold"
)

// A page of keys has the names that a page of entities has. What an entity takes is known before it is read, on disk or not.
func TestKeysThenEntities(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, fold.Limits{After: time.Hour})
	f.feed(t, 1, cameras(5)...)
	large := camera(2)
	large.Description = strings.Repeat("x", 1<<20)
	f.add(t, domain.DeviceUpdated{Device: large})
	for _, flushed := range []bool{false, true} {
		if flushed {
			must(t, flush(f.DB))
		}
		within, done := f.View()
		if r := domain.GetWithin(within.State.Devices, large.Name, 16<<10, new(domain.Device)); r.OK || r.Size < 3<<20 || r.Size > 4<<20 {
			t.Errorf("flushed %v: a large one: got %+v", flushed, r)
		}
		var got domain.Device
		r := domain.GetWithin(within.State.Devices, large.Name, 4<<20, &got)
		if !r.OK || r.Revision != domain.Revision(within.State.Devices, large.Name) || got.Description != large.Description {
			t.Errorf("flushed %v: within 4 MiB: got %+v", flushed, r)
		}
		if r := domain.GetWithin(within.State.Devices, "nosuch", 4<<20, &got); r != (domain.Row{}) {
			t.Errorf("flushed %v: absent: got %+v", flushed, r)
		}
		done()
		v, done := f.View()
		keys, total, err := v.Keys(domain.ListDevices, Page{Offset: 1, Limit: 3})
		list, wantTotal, _ := v.Devices(Page{Offset: 1, Limit: 3})
		if err != nil || total != wantTotal || len(keys) != 3 {
			t.Fatalf("flushed %v: got %d of %d, %v", flushed, len(keys), total, err)
		}
		for i, d := range list {
			if keys[i] != d.Name {
				t.Errorf("flushed %v: key %d is %q, want %q", flushed, i, keys[i], d.Name)
			}
		}
		if _, _, err := v.Keys("nosuch", Page{}); err == nil {
			t.Error("a list that is not there has keys")
		}
		done()
	}
}
