package projections

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/domain"
)

// A projection that is restored from a snapshot as of any event equals the one that folded the events, then and after
// the rest of them.
func TestSnapshot(t *testing.T) {
	for tables, step := range map[Tables]func(*history){Events: (*history).metadata, Notifications: (*history).notification, Readings: (*history).reading} {
		t.Run(tables.String(), func(t *testing.T) {
			t.Parallel()
			h := newHistory(5)
			for len(h.events) < 900 {
				step(h)
			}
			for _, at := range []int{1, 400, len(h.events)} {
				d := restored(t, tables, h.events[:at])
				sameDump(t, (&fed{DB: d}).mustDump(t), rebuilt(t, tables, h.events[:at]))
				must(t, d.Apply(h.events[at:]))
				sameDump(t, (&fed{DB: d}).mustDump(t), rebuilt(t, tables, h.events))
			}
		})
	}
}

// restored makes a projection of the snapshot of another one.
func restored(t *testing.T, tables Tables, events []domain.Recorded) *DB {
	t.Helper()
	from, err := Open(Options{Path: filepath.Join(t.TempDir(), "from.db"), Tables: tables})
	must(t, err)
	defer from.Close()
	must(t, from.Apply(events))
	var text bytes.Buffer
	seq, chain, err := from.Snapshot(&text)
	must(t, err)
	if last := events[len(events)-1]; seq != last.Seq || chain != last.Chain {
		t.Fatalf("snapshot as of %d, want %d", seq, last.Seq)
	}
	o := Options{Path: filepath.Join(t.TempDir(), "to.db"), Tables: tables}
	must(t, Restore(o, &text, seq, chain))
	d, err := Open(o)
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// Names that the file cannot hold whole, and tables without entities come back too.
func TestSnapshotOfOddNames(t *testing.T) {
	long := strings.Repeat("n", 3*1023)
	devices := []domain.Device{{ID: "<&>", Name: "ä"}, {ID: long, Name: long}, {ID: uuid("d", 1), Name: "b"}}
	var events []domain.Recorded
	for i, d := range devices {
		events = append(events, recorded(uint64(i+1), domain.DeviceAdded{Device: d}))
	}
	d := restored(t, Events, events)
	sameDump(t, (&fed{DB: d}).mustDump(t), rebuilt(t, Events, events))
}

// What is not a snapshot leaves the file that is there.
func TestRestoreRefuses(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "state.db"), Tables: Events}
	d, err := Open(o)
	must(t, err)
	must(t, d.Apply(cameras(3)))
	var text bytes.Buffer
	_, _, err = d.Snapshot(&text)
	must(t, err)
	must(t, d.Close())
	for _, bad := range []string{text.String()[:text.Len()-5], `{"table":"cameras","value":1}`, `{"table":"devices","key":"zz","value":{}}`, "[]"} {
		if err := Restore(o, strings.NewReader(bad), 9, chainOf(9)); err == nil {
			t.Errorf("%.30q is restored", bad)
		}
	}
	d, err = Open(o)
	must(t, err)
	defer d.Close()
	if seq, _ := d.Checkpoint(); seq != 3 {
		t.Errorf("the checkpoint is %d, want 3", seq)
	}
	if left, _ := filepath.Glob(o.Path + "?*"); len(left) > 0 && !slices.Equal(left, []string{o.Path + ".discarded"}) {
		t.Errorf("left: %v", left)
	}
}
