package projections

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/domain"
)

// A list that meets Close says so, and so does all that is asked after it.
func TestListMeetsClose(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, limits{after: time.Hour})
	f.feed(t, 1, cameras(2)...)
	v, release := f.View()
	done := make(chan error, 1)
	go func() { done <- f.Close() }() // it waits for the view
	f.until(t, "closing", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.closed
	})
	if _, _, err := v.Devices(Page{Limit: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("list: got %v", err)
	}
	if _, err := v.TransmissionIDs("n"); !errors.Is(err, ErrClosed) {
		t.Errorf("second list: got %v", err)
	}
	release()
	must(t, <-done)
	f.open(t)
}

// After a list that failed, a View shows what the transaction has in which it reads from then on.
func TestViewAfterAFailedList(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, limits{after: time.Hour})
	f.feed(t, 1, cameras(2)...)
	must(t, f.Sync())
	f.add(t, domain.SamplesSeeded{})
	v, release := f.View()
	defer release()
	if _, ok := v.State.Devices.Get(camera(1).Name); !ok {
		t.Fatal("not found")
	}
	changed := camera(1)
	changed.Description = "changed"
	f.add(t, domain.DeviceUpdated{Device: changed})
	failed := domain.Errorf(domain.Unavailable, "the file cannot be used")
	f.broken.Store(&broken{failed, failed})
	if _, _, err := v.Devices(Page{Limit: 1}); !errors.Is(err, failed) {
		t.Errorf("list: got %v", err)
	}
	f.broken.Store(nil)
	got, _ := v.State.Devices.Get(camera(1).Name)
	if seq, _ := v.Checkpoint(); seq != 4 || got.Description != "changed" {
		t.Errorf("at %d: %q", seq, got.Description)
	}
}

// What waits for the file is counted with all that it takes.
func TestMemtableCountsBytes(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, e := range map[string]domain.Event{
		"service":      domain.ServiceAdded{Service: domain.DeviceService{Name: "s", Description: long}},
		"watcher":      domain.WatcherAdded{Watcher: domain.ProvisionWatcher{Name: "w", Identifiers: map[string]string{"a": long}}},
		"subscription": domain.SubscriptionAdded{Subscription: domain.Subscription{Name: "s", Labels: []string{long}}},
		"device":       domain.DeviceAdded{Device: domain.Device{Name: "d", Protocols: map[string]map[string]string{"p": {"k": long}}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := MustOpen(t, Events)
			f.reopen(t, limits{after: time.Hour, bytes: 8 << 20})
			f.add(t, e)
			if got := f.fresh.bytes; got < len(long) || got > 2*len(long) {
				t.Errorf("%d bytes, want some %d", got, len(long))
			}
		})
	}
}

// A list flushes what was applied before it. Lists that come while a flush runs share the next one, and a list of what is in the
// file writes nothing.
func TestListsShareAFlush(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, limits{after: time.Hour})
	const lists = 20
	f.feed(t, lists, cameras(lists)...)
	before := f.file.last.Load()
	list := func() {
		v, release := f.View()
		defer release()
		if list, total, err := v.Devices(Page{Limit: 1}, Label("camera")); err != nil || total != lists || list[0].Name != camera(lists-1).Name {
			t.Errorf("total %d, %v", total, err)
		}
	}
	var all sync.WaitGroup
	for range lists {
		all.Go(list)
	}
	all.Wait()
	list()
	if n := f.file.last.Load() - before; n != 1 {
		t.Errorf("the lists have written the file %d times, want once", n)
	}
}

// A page of keys has the names that a page of entities has. What an entity takes is known before it is read, on disk or not.
func TestKeysThenEntities(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, limits{after: time.Hour})
	f.feed(t, 1, cameras(5)...)
	large := camera(2)
	large.Description = strings.Repeat("x", 1<<20)
	f.add(t, domain.DeviceUpdated{Device: large})
	for _, flushed := range []bool{false, true} {
		if flushed {
			must(t, f.Sync())
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
