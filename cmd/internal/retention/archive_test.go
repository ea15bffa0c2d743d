package retention

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
	"ledge/store"
	"ledge/store/storetest"
)

// fillBlocks fills the log of changes with 26 events over several blocks.
func fillBlocks(t *testing.T, c *config.Config) {
	t.Helper()
	d := mustOpenData(t, c)
	for i := range 26 {
		storetest.MustSubmit(t, d.Changes.Appender, storetest.Add(fmt.Sprint("service-", i)))
	}
	mustDo(t, d.Close())
	storetest.SplitLog(t, c.Paths().Log(), 6)
}

func archiverOf(d *node.Node, c *config.Config) *archiver {
	o := optionsOf(c)
	o.Logger, o.Now = slog.New(slog.DiscardHandler), time.Now
	return newArchiver(o, d)
}

// holdHistory holds that the log of changes reads from event 1 to 26, with what is archived.
func holdHistory(t *testing.T, d *node.Node, when string) {
	t.Helper()
	n := uint64(0)
	for r, err := range d.Changes.Log.Read(t.Context(), 1, 0) {
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
	stats, err := d.Changes.Log.Stats()
	mustDo(t, err)
	c.EventsMaxBytes = config.Size(stats.Bytes / 2)
	a := archiverOf(d, c)
	a.o.ReserveBytes = 1 << 60
	err = a.close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "free some space, or set archive-dir to another disk") || d.Changes.Log.First() != 1 {
		t.Errorf("without room: %v, the log begins at %d", err, d.Changes.Log.First())
	}
	if at := a.failed(t.Context(), err); !at.After(time.Now()) || len(a.warnings()) != 1 {
		t.Errorf("without room: tried again at %v, warnings %q", at, a.warnings())
	}
	a.o.ReserveBytes = 1 << 20
	key, err := store.OpenSigningKey(c.Paths().SigningKey())
	mustDo(t, err)
	last, _, err := a.due(false)
	mustDo(t, err)
	again := func(when string) {
		t.Helper()
		mustDo(t, d.Close())
		d = mustOpenData(t, c)
		a = archiverOf(d, c)
		holdHistory(t, d, when)
	}
	for _, left := range []string{filepath.Join(c.Paths().Archives(), "LEDGE_EVENTS-000000000001-000000000002.archive.new"), filepath.Join(c.DataDir, "archive-fold-1", "state.db")} {
		mustDo(t, os.MkdirAll(filepath.Dir(left), 0o750))
		mustDo(t, os.WriteFile(left, []byte("half"), 0o600))
	}
	_, err = d.Changes.Log.Archive(t.Context(), last, key)
	mustDo(t, err)
	again("after the archive")
	_, err = d.Changes.Log.Archive(t.Context(), last, key)
	mustDo(t, err)
	_, err = a.snapshot(t.Context(), last, key)
	mustDo(t, err)
	again("after the snapshot")
	a.clean()
	mustDo(t, a.unfinished(t.Context()))
	mustDo(t, a.close(t.Context()))
	if first := d.Changes.Log.First(); first != last+1 {
		t.Errorf("the log begins at %d, want %d", first, last+1)
	}
	again("in the end")
	for _, pattern := range []string{"archive*/*.new", "snapshots/*.new", foldsToArchive} {
		if left, _ := filepath.Glob(filepath.Join(c.DataDir, pattern)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	if got := d.Store.Archives().Known(); len(got) != 1 || got[0].First != 1 || got[0].Last != last {
		t.Errorf("archives %v, want one of 1 to %d", got, last)
	}
}
