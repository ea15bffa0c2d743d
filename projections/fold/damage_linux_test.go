package fold

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// The fsync of a file fails once, as Linux has it. What was applied is seen, and the file is not trusted again.
func TestFailedFsync(t *testing.T) {
	f := mustOpen(t)
	f.reopen(t, Limits{After: time.Hour})
	f.feed(t, 100, items(300)...)
	must(t, f.Sync())
	for n := range 20 { // which leaves free pages: the file need not grow
		f.feed(t, 1, record(uint64(301+n), put{item(n)})...)
		must(t, f.Sync())
	}
	f.feed(t, 1, record(321, count{})...)
	failNextSync(t, f)
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) || !isBroken(err) {
		t.Errorf("got %v", err)
	}
	if err := f.Apply(record(322, count{})); !isBroken(err) {
		t.Errorf("an event was applied after a failed fsync: %v", err)
	}
	_ = f.Close()
	f.open(t)
	f.isSetAside(t)
	must(t, f.Apply(f.events))
}

// A snapshot that meets a damaged checkpoint is an error of the file.
func TestSnapshotOfADamagedCheckpoint(t *testing.T) {
	f := mustOpen(t)
	f.feed(t, 100, items(300)...)
	f.mustDump(t) // from here on the checkpoint is known
	whole, err := os.ReadFile(f.path)
	must(t, err)
	c := Checkpoint{300, chainOf(300)}
	value := append(binary.BigEndian.AppendUint64(nil, c.Seq), c.Chain[:]...)
	at := bytes.Index(whole, append(bytes.Clone(checkpointKey), seal(checkpointKey, value)...))
	overwrite(t, f.path, int64(at), append(bytes.Clone(checkpointKey), 'x'))
	if _, _, err := f.Snapshot(io.Discard); !isBroken(err) {
		t.Errorf("got %v", err)
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
	f := mustOpen(t)
	f.reopen(t, Limits{After: time.Hour})
	f.feed(t, 100, items(300)...)
	must(t, f.Sync())
	want, all := f.mustDump(t), allThings(t, f)
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
		next := record(301, count{}, gone{item(7).Name})
		damage(page, at/4096)
		overwrite(t, f.path, int64(at), page)
		readAll(t, f, at/4096, all)
		err := f.Apply(next)
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = f.Dump(io.Discard)
		}
		if err != nil && !isBroken(err) || (err == nil) != (len(f.told) == 0) {
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
func readAll(t *testing.T, f *fed, page int, want []thing) {
	t.Helper()
	s, release := f.rows()
	defer release()
	for _, d := range want {
		var got thing
		var ok bool
		if err := recovered(func() { got, ok = s.Get(d.Name) }); err != nil {
			if e, is := err.(error); !is || !isBroken(e) {
				t.Fatalf("page %d: get: panic %v", page, err)
			}
			continue
		}
		if !ok || got.Text != d.Text || got.Group != d.Group || got.Modified != d.Modified || len(got.Labels) != len(d.Labels) {
			t.Errorf("page %d: %s: got %t %+v", page, d.Name, ok, got)
		}
	}
	v, done := f.View()
	defer done()
	for offset := 0; offset < 300; offset += 50 {
		list, total, err := list(v, Page{Offset: offset, Limit: 50})
		if err != nil {
			continue
		}
		if total != 300 || len(list) != 50 || list[0].Name != want[offset].Name || list[49].Name != want[offset+49].Name {
			t.Errorf("page %d: list from %d: %d of %d", page, offset, len(list), total)
		}
	}
}

func allThings(t *testing.T, f *fed) []thing {
	t.Helper()
	v, release := f.View()
	defer release()
	list, _, err := list(v, Page{Limit: 300})
	must(t, err)
	return list
}
