package projections

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ledge/domain"
)

// healed has f healed from what it was fed.
func (f *fed) heals(gaveUp func(error)) {
	events := f.events
	f.HealFrom(func(_ context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for _, r := range events {
				if r.Seq >= from && !yield(r, nil) {
					return
				}
			}
		}
	}, gaveUp)
}

// Damage that shows in use is healed without a restart: meanwhile Health names the file and Apply waits.
func TestHeal(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 100, cameras(300)...)
	must(t, f.Sync())
	f.events = append(f.events, record(301, domain.SamplesSeeded{})...) // on the log, and not applied yet
	row := appendRow(nil, devicesID, camera(5).Name)
	flip(t, f, row)
	asked := make(chan struct{})
	events := f.events
	f.HealFrom(func(context.Context, uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			<-asked
			for _, r := range events {
				yield(r, nil)
			}
		}
	}, func(err error) { t.Error(err) })
	s, release := f.State()
	if err, ok := recovered(func() { s.Devices.Get(camera(5).Name) }).(error); !ok || domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("get: got %v", err)
	}
	release()
	s, release = f.State()
	if _, ok := s.Devices.Get(camera(6).Name); !ok {
		t.Error("a whole row cannot be read")
	}
	release()
	if err := f.Health(); err == nil || !strings.Contains(err.Error(), "state.db cannot be used") {
		t.Errorf("health: %v", err)
	}
	applied := make(chan error, 1)
	go func() { applied <- f.Apply(events[300:]) }()
	close(asked)
	must(t, <-applied)
	if err := f.Health(); err != nil {
		t.Errorf("health: %v", err)
	}
	if _, err := os.Stat(f.path + ".damaged"); err != nil {
		t.Error(err)
	}
	for _, gone := range []string{condemned(f.path), refolding(f.path)} {
		if _, err := os.Stat(gone); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	f.add(t, domain.DeviceRemoved{Device: camera(5)})
}

// Where the log cannot be folded, that is said once, and nothing waits any longer.
func TestHealGivesUp(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 100, cameras(30)...)
	gaveUp := make(chan error, 1)
	f.HealFrom(func(context.Context, uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) { yield(recorded(1, domain.ReadingPosted{}), nil) }
	}, func(err error) { gaveUp <- err })
	_ = f.fail(fmt.Errorf("it fell down"))
	if err := <-gaveUp; !strings.Contains(err.Error(), "fold event 1") {
		t.Errorf("got %v", err)
	}
	if err := f.Apply(record(31, domain.SamplesSeeded{})); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("apply: %v", err)
	}
	must(t, f.Close())
	f.open(t)
	f.feed(t, 1, f.events...)
	f.events = f.events[:30]
}

// What the log has dropped is not there after a healing; the checkpoint stays.
func TestHealOfAnEmptyLog(t *testing.T) {
	f := MustOpen(t, Readings)
	f.feed(t, 100, posts(20)...)
	want, _ := f.Checkpoint()
	f.events = nil
	f.heals(func(err error) { t.Error(err) })
	_ = f.fail(fmt.Errorf("it fell down"))
	f.until(t, "healed", func() bool { return f.Health() == nil })
	if seq, _ := f.Checkpoint(); seq != want {
		t.Errorf("at %d, want %d", seq, want)
	}
	if n := f.Stats().Count["readings"]; n != 0 {
		t.Errorf("%d readings", n)
	}
	must(t, f.Close())
	must(t, os.Remove(f.path))
	f.open(t)
}

// flip changes one bit of the value at a key, in the file.
func flip(t *testing.T, f *fed, key []byte) {
	t.Helper()
	tx, err := f.file.Begin(true)
	must(t, err)
	rows := tx.Bucket(bucketName)
	b := append([]byte(nil), rows.Get(key)...)
	at := strings.LastIndex(string(b), "camera")
	if at < 0 {
		t.Fatal("no value to change")
	}
	b[at] ^= 1 // still JSON
	must(t, rows.Put(key, b))
	must(t, tx.Commit())
}

// The fsync of a file fails once, as Linux has it. What was applied is not lost, and the file is not trusted again.
func TestFailedFsync(t *testing.T) {
	for _, healing := range []bool{true, false} {
		t.Run(fmt.Sprintf("healing %t", healing), func(t *testing.T) {
			f := MustOpen(t, Events)
			f.reopen(t, limits{after: time.Hour})
			f.feed(t, 100, cameras(300)...)
			must(t, f.Sync())
			for n := range 20 { // which leaves free pages: the file need not grow
				f.feed(t, 1, record(uint64(301+n), domain.DeviceUpdated{Device: camera(n)})...)
				must(t, f.Sync())
			}
			f.feed(t, 1, record(321, domain.SamplesSeeded{})...)
			f.events = append(f.events, record(322, domain.SamplesSeeded{})...)
			if healing {
				f.heals(func(err error) { t.Error(err) })
			}
			failNextSync(t, f)
			if err := f.Sync(); !errors.Is(err, syscall.EINVAL) || domain.CodeOf(err) != domain.Unavailable {
				t.Errorf("got %v", err)
			}
			if !healing {
				if err := f.Apply(record(322, domain.SamplesSeeded{})); err == nil {
					t.Error("an event was applied after a failed fsync")
				}
				_ = f.Close()
				f.open(t)
				mustBeEmpty(t, f, "condemned")
				must(t, f.Apply(f.events))
				return
			}
			must(t, f.Apply(f.events[321:])) // it waits
			must(t, f.Health())
		})
	}
}

// A zeroed page of any kind is an error, wherever it is met, and healed. Nothing is answered that is wrong.
func TestZeroedPages(t *testing.T) { damagePages(t, func(page []byte, _ int) { clear(page) }) }

// A read of a value with a flipped byte is an error.
func TestFlippedBytes(t *testing.T) {
	damagePages(t, func(page []byte, n int) { page[len(page)-1-n*37%1024] ^= 0x10 })
}

// damagePages damages the pages of a file under a running projection, one after the other.
func damagePages(t *testing.T, damage func(page []byte, n int)) {
	f := MustOpen(t, Events)
	f.reopen(t, limits{after: time.Hour})
	f.feed(t, 100, cameras(300)...)
	must(t, f.Sync())
	want, devices := f.mustDump(t), allDevices(t, f)
	must(t, f.Close())
	whole, err := os.ReadFile(f.path)
	must(t, err)
	healed := rebuilt(t, Events, append(f.events[:300:300], record(301, domain.SamplesSeeded{}, domain.DeviceRemoved{Device: camera(7)})...))
	stride := 5
	if os.Getenv("TEST_LEDGE_FAULTS") == "all" {
		stride = 1
	}
	for at := 0; at+4096 <= len(whole); at += stride * 4096 {
		must(t, os.WriteFile(f.path, whole, 0o600))
		f.open(t)
		var gaveUp atomic.Pointer[error]
		next := record(301, domain.SamplesSeeded{}, domain.DeviceRemoved{Device: camera(7)})
		f.events = append(f.events[:300:300], next...) // on the log before they are applied
		f.heals(func(err error) { gaveUp.Store(&err) })
		page := append([]byte(nil), whole[at:at+4096]...)
		damage(page, at/4096)
		overwrite(t, f.path, int64(at), page)
		readAll(t, f, at/4096, devices)
		if err := f.Apply(next); err != nil {
			t.Fatalf("page %d: apply: %v", at/4096, err)
		}
		_ = f.Sync()
		f.until(t, "healed", func() bool { return f.Health() == nil })
		if err := gaveUp.Load(); err != nil {
			t.Fatalf("page %d: %v", at/4096, *err)
		}
		for f.Dump(io.Discard) != nil {
			f.until(t, "healed", func() bool { return f.Health() == nil })
		}
		sameDump(t, f.mustDump(t), healed)
		must(t, f.Close())
	}
	f.events = f.events[:300]
	must(t, os.WriteFile(f.path, whole, 0o600))
	f.open(t)
	sameDump(t, f.mustDump(t), want)
}

// readAll asks for everything in some ways. Each answer is right, or an error.
func readAll(t *testing.T, f *fed, page int, want []domain.Device) {
	t.Helper()
	s, release := f.State()
	defer release()
	for _, d := range want {
		var got domain.Device
		var ok bool
		if err := recovered(func() { got, ok = s.Devices.Get(d.Name) }); err != nil {
			if e, is := err.(error); !is || domain.CodeOf(e) != domain.Unavailable {
				t.Fatalf("page %d: get: panic %v", page, err)
			}
			continue
		}
		if !ok || got.Description != d.Description || got.ID != d.ID || got.Modified != d.Modified || len(got.Labels) != len(d.Labels) {
			t.Errorf("page %d: %s: got %t %+v", page, d.Name, ok, got)
		}
	}
	v, done := f.View()
	defer done()
	for offset := 0; offset < 300; offset += 50 {
		list, total, err := v.Devices(Page{Offset: offset, Limit: 50})
		if err != nil {
			continue
		}
		if total != 300 || len(list) != 50 || list[0].Name != want[offset].Name || list[49].Name != want[offset+49].Name {
			t.Errorf("page %d: list from %d: %d of %d", page, offset, len(list), total)
		}
	}
}

func allDevices(t *testing.T, f *fed) []domain.Device {
	t.Helper()
	v, release := f.View()
	defer release()
	list, _, err := v.Devices(Page{Limit: 300})
	must(t, err)
	return list
}
