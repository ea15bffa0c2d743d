package fold

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledge/store/disktest"
)

// onSmallDisk moves f to a file system of its own with so many KiB, and returns what fills it.
func (f *fed) onSmallDisk(t *testing.T, kib int, l Limits) (filler string) {
	t.Helper()
	dir := disktest.New(t, kib)
	must(t, f.Close())
	home := f.options
	t.Cleanup(func() {
		if !t.Failed() {
			sameDump(t, f.mustDump(t), f.rebuilt(t, f.events))
		}
		must(t, f.Close())
		f.options = home
		f.open(t)
		must(t, f.Apply(f.events))
	})
	f.options.Path, f.options.Limits = filepath.Join(dir, "state.db"), l
	f.open(t)
	return filepath.Join(dir, "filler")
}

func fillDisk(t *testing.T, path string) {
	t.Helper()
	w, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer w.Close()
	for err == nil {
		_, err = w.Write(make([]byte, 4<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// A disk that is full stops the file and nothing else: what is applied is seen and listed, and written when there is room. Before, lists were refused
// until then, and a start ended that had a list to read.
func TestDiskFull(t *testing.T) {
	for name, l := range map[string]Limits{"behind": {After: time.Millisecond, Events: 20}, "directly": {After: time.Millisecond, Events: 2}} {
		t.Run(name, func(t *testing.T) {
			f := mustOpen(t)
			filler := f.onSmallDisk(t, 2048, l)
			for round := range 2 {
				f.add(t, put{item(100 * round)})
				must(t, f.Sync())
				fillDisk(t, filler)
				more := heldMost / 2
				for n := 1; f.Stalled() == nil || more > 0; n++ {
					if f.Stalled() != nil {
						more--
					}
					next := record(uint64(len(f.events)+1), put{item(100*round + n)}, count{})
					f.feed(t, 2, next...)
					s, release := f.rows()
					if _, ok := s.Get(item(100*round + n).Name); !ok {
						t.Error("what was applied is not seen")
					}
					release()
				}
				if err := f.Stalled(); !isFull(err) || !strings.Contains(err.Error(), "disk is full: state.db") {
					t.Errorf("got %v", err)
				}
				mustListThings(t, f)
				mustListThings(t, f) // of the same transaction, or of the next one after a try
				must(t, os.Remove(filler))
				f.until(t, "written again", func() bool { return f.Stalled() == nil })
				_ = f.mustDump(t)
				for _, line := range []string{"level=ERROR msg=\"disk is full", "projection is written again"} {
					if n := strings.Count(f.logged.String(), line); n != round+1 {
						t.Errorf("%d lines with %q, want %d\n%s", n, line, round+1, f.logged)
					}
				}
			}
		})
	}
}

// mustListThings holds that a list has each thing that was put.
func mustListThings(t *testing.T, f *fed) {
	t.Helper()
	v, release := f.View()
	defer release()
	want := 0
	for _, r := range f.events {
		if _, ok := r.step.(put); ok {
			want++
		}
	}
	if list, total, err := list(v, Page{Limit: 1000}); err != nil || total != want || len(list) != want {
		t.Errorf("%d things of %d, want %d, %v", len(list), total, want, err)
	}
}

// A list that meets damage on a full disk, where it has the transaction for writing, gives it back: Close does not wait for it.
func TestDamageOnAFullDisk(t *testing.T) {
	f := mustOpen(t)
	filler := f.onSmallDisk(t, 2048, Limits{After: time.Hour, Events: 1000})
	f.feed(t, 100, items(300)...)
	must(t, f.Sync())
	fillDisk(t, filler)
	for n := 1000; f.Stalled() == nil; n++ {
		f.feed(t, 1, record(uint64(len(f.events)+1), put{item(n)})...)
		mustListThings(t, f)
	}
	f.feed(t, 1, record(uint64(len(f.events)+1), gone{item(5).Name})...)
	whole, err := os.ReadFile(f.path)
	must(t, err)
	key := appendRow(nil, things.ID, item(5).Name)
	at := bytes.Index(whole, key)
	if at < 0 {
		t.Fatal("the row is not in the file")
	}
	overwrite(t, f.path, int64(at+len(key)), []byte("damaged"))
	v, release := f.View()
	if _, _, err := list(v, Page{Limit: 1000}); !isBroken(err) {
		t.Errorf("got %v", err)
	}
	release()
	closed := make(chan error, 1)
	go func() { closed <- f.Close() }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("the list holds up Close")
	}
	must(t, os.Remove(filler))
	f.open(t)
	f.isSetAside(t)
	all := f.events
	f.events = nil
	f.feed(t, 100, all...)
}

// What is held in memory while the disk is full has an end, at which nothing is lost.
func TestDiskFullHoldsSoMuch(t *testing.T) {
	f := mustOpen(t)
	filler := f.onSmallDisk(t, 2048, Limits{After: time.Millisecond, Events: 10})
	f.add(t, count{})
	must(t, f.Sync())
	fillDisk(t, filler)
	var err error
	for n := 0; n < 1000 && err == nil; n++ {
		next := record(uint64(len(f.events)+1), put{item(n)})
		if err = f.Apply(next); err == nil {
			f.events = append(f.events, next...)
		}
		if n == 9 {
			f.until(t, "stalled", func() bool { return f.Stalled() != nil })
		}
	}
	if held := len(f.events); !isFull(err) || held < heldMost*10 || held > heldMost*10+40 {
		t.Errorf("%d events applied, then %v", held, err)
	}
	if err := f.Apply(record(uint64(len(f.events)+1), make([]step, 1000)...)); !errors.Is(err, syscall.ENOSPC) || !isFull(err) {
		t.Errorf("a large batch: %v", err)
	}
	must(t, os.Remove(filler))
	f.until(t, "written again", func() bool { return f.Stalled() == nil })
	f.add(t, put{item(2000)})
}

// A close on a full disk says so; the next start goes on from what the file has.
func TestCloseOnAFullDisk(t *testing.T) {
	f := mustOpen(t)
	filler := f.onSmallDisk(t, 2048, Limits{After: time.Hour, Events: 1000})
	f.add(t, count{})
	must(t, f.Sync())
	fillDisk(t, filler)
	var lost events
	for n := range 200 {
		lost = append(lost, record(uint64(2+n), put{item(n)})...)
	}
	must(t, f.Apply(lost))
	if err := f.Close(); !isFull(err) {
		t.Errorf("got %v", err)
	}
	must(t, os.Remove(filler))
	f.open(t)
	seq, _ := f.Checkpoint()
	if seq != 1 {
		t.Errorf("at %d, want 1", seq)
	}
	f.feed(t, 1, lost...)
}
