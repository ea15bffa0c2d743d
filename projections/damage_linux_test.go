package projections

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"ledge/domain"
)

// The fsync of a file fails once, as Linux has it. What was applied is seen, and the file is not trusted again.
func TestFailedFsync(t *testing.T) {
	f := MustOpen(t, Events)
	f.reopen(t, limits{after: time.Hour})
	f.feed(t, 100, cameras(300)...)
	must(t, f.Sync())
	for n := range 20 { // which leaves free pages: the file need not grow
		f.feed(t, 1, record(uint64(301+n), domain.DeviceUpdated{Device: camera(n)})...)
		must(t, f.Sync())
	}
	f.feed(t, 1, record(321, domain.SamplesSeeded{})...)
	failNextSync(t, f)
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) || domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("got %v", err)
	}
	if err := f.Apply(record(322, domain.SamplesSeeded{})); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("an event was applied after a failed fsync: %v", err)
	}
	_ = f.Close()
	f.open(t)
	f.isSetAside(t)
	must(t, f.Apply(f.events))
}

// A zeroed page of any kind is an error, wherever it is met, and the next start folds the file again. Nothing is answered that is wrong.
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
	stride := 5
	if os.Getenv("TEST_LEDGE_FAULTS") == "all" {
		stride = 1
	}
	for at := 0; at+4096 <= len(whole); at += stride * 4096 {
		must(t, os.WriteFile(f.path, whole, 0o600))
		f.open(t)
		page := append([]byte(nil), whole[at:at+4096]...)
		next := record(301, domain.SamplesSeeded{}, domain.DeviceRemoved{Device: camera(7)})
		damage(page, at/4096)
		overwrite(t, f.path, int64(at), page)
		readAll(t, f, at/4096, devices)
		err := f.Apply(next)
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = f.Dump(io.Discard)
		}
		if err != nil && domain.CodeOf(err) != domain.Unavailable || (err == nil) != (len(f.told) == 0) {
			t.Fatalf("page %d: apply: %v, told of %d damages", at/4096, err, len(f.told))
		}
		_ = f.Close()
		if len(f.told) > 0 {
			f.open(t)
			f.isSetAside(t)
			must(t, f.Close())
		}
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
