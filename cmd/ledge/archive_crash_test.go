package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
	"ledge/store"
	"ledge/store/storetest"
)

// fillBlocks fills the log of changes with 26 events over several blocks.
func fillBlocks(t *testing.T, c *Config) {
	t.Helper()
	d := mustOpenData(t, c)
	for i := range 26 {
		storetest.MustSubmit(t, d.events, storetest.Add(fmt.Sprint("service-", i)))
	}
	ledgetest.MustDo(t, d.close())
	ledgetest.AgeLog(t, c.DataDir)
}

func (d *data) archiver(c *Config) *archiver {
	return newArchiver(c, d, slog.New(slog.DiscardHandler), time.Now)
}

// WholeHistory holds that the log of changes reads from event 1 to 26, with what is archived.
func (d *data) wholeHistory(t *testing.T, when string) {
	t.Helper()
	n := uint64(0)
	for r, err := range d.store.Events().Read(t.Context(), 1, 0) {
		if err != nil || r.Seq != n+1 {
			t.Fatalf("%s: event %d after %d: %v", when, r.Seq, n, err)
		}
		n = r.Seq
	}
	if n != 26 {
		t.Fatalf("%s: %d events, want 26", when, n)
	}
}

// TestArchiveInterrupted has no room for an archive at first, and then ends the closing of a stretch after each of its steps.
// The history is whole each time, and in the end the stretch is in one archive and nothing unfinished is left.
func TestArchiveInterrupted(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir(), "--disk-reserve", "1MiB")
	fillBlocks(t, c)
	d := mustOpenData(t, c)
	stats, err := d.store.Events().Stats()
	ledgetest.MustDo(t, err)
	c.EventsMaxBytes = size(stats.Bytes / 2) // less than the setting allows
	a := d.archiver(c)
	c.DiskReserve = 1 << 60
	err = a.close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "free some space, or set archive-dir to another disk") || d.store.Events().First() != 1 {
		t.Errorf("without room: %v, the log begins at %d", err, d.store.Events().First())
	}
	if at := a.failed(t.Context(), err); !at.After(time.Now()) || len(a.warnings()) != 1 {
		t.Errorf("without room: tried again at %v, warnings %q", at, a.warnings())
	}
	c.DiskReserve = 1 << 20
	key, err := store.OpenSigningKey(c.signingKey())
	ledgetest.MustDo(t, err)
	last, _, err := a.due(false)
	ledgetest.MustDo(t, err)
	again := func(when string) {
		t.Helper()
		ledgetest.MustDo(t, d.close())
		d = mustOpenData(t, c)
		a = d.archiver(c)
		d.wholeHistory(t, when)
	}
	for _, left := range []string{filepath.Join(c.archiveDir(), "LEDGE_EVENTS-000000000001-000000000002.archive.new"), filepath.Join(c.DataDir, "archive-fold-1", "state.db")} {
		ledgetest.MustDo(t, os.MkdirAll(filepath.Dir(left), 0o750))
		ledgetest.MustDo(t, os.WriteFile(left, []byte("half"), 0o600))
	}
	_, err = d.store.Events().Archive(t.Context(), last, key)
	ledgetest.MustDo(t, err)
	again("after the archive")
	_, err = d.store.Events().Archive(t.Context(), last, key)
	ledgetest.MustDo(t, err)
	_, err = a.snapshot(t.Context(), last, key)
	ledgetest.MustDo(t, err)
	again("after the snapshot")
	a.clean()
	ledgetest.MustDo(t, a.unfinished(t.Context()))
	ledgetest.MustDo(t, a.close(t.Context()))
	if first := d.store.Events().First(); first != last+1 {
		t.Errorf("the log begins at %d, want %d", first, last+1)
	}
	again("in the end")
	for _, pattern := range []string{"archive*/*.new", "snapshots/*.new", foldsToArchive} {
		if left, _ := filepath.Glob(filepath.Join(c.DataDir, pattern)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	if got := d.store.Archives().Known(); len(got) != 1 || got[0].First != 1 || got[0].Last != last {
		t.Errorf("archives %v, want one of 1 to %d", got, last)
	}
}
