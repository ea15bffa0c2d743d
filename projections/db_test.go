package projections

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ledge/domain"
	"ledge/projections/fold"
)

// fed is a projection that remembers what it was given.
type fed struct {
	*DB
	options Options
	logged  *bytes.Buffer
	events  []domain.Recorded
}

// MustOpen opens a projection in a folder of its own. When the test ends, it rebuilds it from event 1, in one batch,
// into a second file, and compares.
func MustOpen(tb testing.TB, tables Tables) *fed {
	tb.Helper()
	logged := &bytes.Buffer{}
	f := &fed{logged: logged, options: Options{
		Path: filepath.Join(tb.TempDir(), "state.db"), Tables: tables,
		Logger: slog.New(slog.NewTextHandler(&locked{w: logged}, nil)),
	}}
	f.open(tb)
	tb.Cleanup(func() {
		if tb.Failed() {
			return
		}
		got := f.mustDump(tb)
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
		sameDump(tb, got, rebuilt(tb, tables, f.events))
		f.open(tb)
		sameDump(tb, f.mustDump(tb), got)
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	})
	return f
}

// locked is a writer for several goroutines.
type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// open opens the file again, as it stands.
func (f *fed) open(tb testing.TB) {
	tb.Helper()
	d, err := Open(f.options)
	if err != nil {
		tb.Fatal(err)
	}
	f.DB = d
}

// feed applies events in batches of size.
func (f *fed) feed(tb testing.TB, size int, events ...domain.Recorded) {
	tb.Helper()
	for batch := range slices.Chunk(events, size) {
		if err := f.Apply(batch); err != nil {
			tb.Fatal(err)
		}
	}
	f.events = append(f.events, events...)
}

// add applies events that follow what was applied.
func (f *fed) add(tb testing.TB, events ...domain.Event) {
	tb.Helper()
	f.feed(tb, 1, record(uint64(len(f.events)+1), events...)...)
}

// flush writes everything that was applied to the disk.
func flush(d *DB) error {
	v, release := d.View()
	defer release()
	return v.Read(func() error { return nil })
}

// total returns how many entities a list has.
func (f *fed) total(tb testing.TB, list string) int {
	tb.Helper()
	v, release := f.View()
	defer release()
	_, n, err := v.Keys(list, Page{})
	must(tb, err)
	return n
}

func (f *fed) mustDump(tb testing.TB) string {
	tb.Helper()
	var b strings.Builder
	if err := f.Dump(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// direct makes every batch go to the file before Apply returns.
var direct = fold.Limits{Events: 1}

// reopen closes f and opens it again with limits.
func (f *fed) reopen(tb testing.TB, l fold.Limits) {
	tb.Helper()
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	f.options.limits = l
	f.open(tb)
}

// rebuilt returns the dump of a projection that got the events in one batch.
func rebuilt(tb testing.TB, tables Tables, events []domain.Recorded) string {
	tb.Helper()
	d, err := Open(Options{Path: filepath.Join(tb.TempDir(), "rebuilt.db"), Tables: tables, limits: direct})
	if err != nil {
		tb.Fatal(err)
	}
	defer d.Close()
	if err := d.Apply(events); err != nil {
		tb.Fatal(err)
	}
	return (&fed{DB: d}).mustDump(tb)
}

func sameDump(tb testing.TB, got, want string) {
	tb.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			tb.Fatalf("dumps differ at line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	tb.Fatalf("dumps differ: %d lines, want %d", len(g), len(w))
}

func TestApplyRefusesWhatDoesNotFollow(t *testing.T) {
	for _, test := range []struct {
		name   string
		tables Tables
		seqs   []uint64
		want   string
	}{
		{"hole", Events, []uint64{1, 2, 4}, "apply: event 4 where 3 is next"},
		{"again", Events, []uint64{1, 2, 2}, "apply: event 2 where 3 is next"},
		{"not from the start", Events, []uint64{7}, "apply: event 7 where 1 is next"},
		{"from where the stream begins", Notifications, []uint64{7, 8}, ""},
		{"hole later", Notifications, []uint64{7, 9}, ""},
		{"back", Notifications, []uint64{7, 9, 8}, "apply: event 8 where 10 is next"},
		{"again later", Notifications, []uint64{7, 7}, "apply: event 7 where 8 is next"},
		{"no sequence", Notifications, []uint64{0}, "apply: event 0 where 1 is next"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := MustOpen(t, test.tables)
			var events []domain.Recorded
			for _, seq := range test.seqs {
				e := domain.Event(domain.SamplesSeeded{})
				if test.tables == Notifications {
					e = domain.NotificationAdded{Notification: domain.Notification{ID: uuid("n", int(seq))}}
				}
				events = append(events, recorded(seq, e))
			}
			before := f.mustDump(t)
			err := f.Apply(events)
			if got := message(err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err == nil {
				f.events = events
			} else if f.mustDump(t) != before {
				t.Error("a refused batch has changed the file")
			}
		})
	}
}

// Retention removes what was not applied yet: the fold goes on where the stream begins, but not that of the events,
// which are never removed.
func TestApplyBehindRetention(t *testing.T) {
	for _, test := range []struct {
		tables Tables
		event  func(n int) domain.Event
		want   string
	}{
		{Events, func(int) domain.Event { return domain.SamplesSeeded{} }, "apply: event 8 where 4 is next"},
		{Notifications, func(n int) domain.Event {
			return domain.NotificationAdded{Notification: domain.Notification{ID: uuid("n", n)}}
		}, ""},
		{Readings, func(n int) domain.Event { return domain.ReadingPosted{Reading: domain.Reading{ID: uuid("r", n)}} }, ""},
	} {
		for _, l := range []fold.Limits{{}, direct} {
			t.Run(fmt.Sprint(test.tables, " ", l.Events), func(t *testing.T) {
				f := MustOpen(t, test.tables)
				f.feed(t, 1, record(1, test.event(1), test.event(2), test.event(3))...)
				f.reopen(t, l)
				late := record(8, test.event(8), test.event(9))
				if got := message(f.Apply(late)); got != test.want {
					t.Fatalf("got %q, want %q", got, test.want)
				}
				want := uint64(3)
				if test.want == "" {
					f.events = append(f.events, late...)
					want = 9
				}
				if seq, _ := f.Checkpoint(); seq != want {
					t.Errorf("at %d, want %d", seq, want)
				}
			})
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// An event of another stream is an error and not a crash, and leaves nothing behind.
func TestApplyForeignEvent(t *testing.T) {
	f := MustOpen(t, Events)
	f.add(t, domain.DeviceAdded{Device: camera(1)})
	err := f.Apply(record(2, domain.DeviceAdded{Device: camera(2)}, domain.ReadingPosted{}))
	if err == nil || !strings.Contains(err.Error(), "fold event 3") {
		t.Errorf("got %v, want an error that names event 3", err)
	}
	f.add(t, domain.DeviceAdded{Device: camera(3)})
}

func TestCheckpoint(t *testing.T) {
	f := MustOpen(t, Events)
	if seq, chain := f.Checkpoint(); seq != 0 || chain != [32]byte{} {
		t.Errorf("got %d %x, want zeros", seq, chain)
	}
	f.feed(t, 2, cameras(5)...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.open(t)
	if seq, chain := f.Checkpoint(); seq != 5 || chain != chainOf(5) {
		t.Errorf("got %d %x, want 5 %x", seq, chain, chainOf(5))
	}
	v, release := f.View()
	defer release()
	if seq, chain := v.Checkpoint(); seq != 5 || chain != chainOf(5) {
		t.Errorf("view: got %d %x, want 5 %x", seq, chain, chainOf(5))
	}
}

func TestClosed(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 1, cameras(1)...)
	d := f.DB
	for range 2 {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := d.Apply(record(2, domain.SamplesSeeded{})); err != ErrClosed {
		t.Errorf("apply: got %v, want %v", err, ErrClosed)
	}
	f.open(t)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func recovered(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}
