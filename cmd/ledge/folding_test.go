package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/cmd/ledgetest"
)

// TestRebuildFoldsOnce holds that a rebuild of a folder without state, as a restore leaves it, folds the log once, and that a start tells
// its appenders' progress.
func TestRebuildFoldsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledgetest.Start(t, dir).Stop()
	for _, file := range datadir.StateFiles {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folds := range []int{1, 1} { // without state, and with a state that is whole
		out, stderr, code := ledgetest.Run(t, "rebuild", "--data-dir", dir)
		if got := strings.Count(stderr, "stream=LEDGE_EVENTS") + strings.Count(stderr, `"stream":"LEDGE_EVENTS"`); code != exit.OK || got != folds || !strings.Contains(out, "state.db: folded to event") {
			t.Errorf("%d folds, want %d: %d %s%s", got, folds, code, out, stderr)
		}
	}
	c := ledgetest.ConfigOf(t, "--data-dir", dir, "--disk-reserve", "1MiB")
	for _, file := range datadir.StateFiles {
		_ = os.Remove(filepath.Join(dir, file))
	}
	told := map[string]int64{}
	o := nodeOptions(c, slog.New(slog.DiscardHandler))
	o.Folding = func(file string, done, total int64) { told[file] = done*1000 + total }
	d, err := node.Open(t.Context(), o)
	ledgetest.MustDo(t, err)
	ledgetest.MustDo(t, d.Close())
	if n := told["state.db"]; n == 0 || n/1000 != n%1000 {
		t.Errorf("a fold has told %v", told)
	}
}
