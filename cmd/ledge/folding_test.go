package main

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestFoldingIsTold holds that a fold tells the log and systemd every 5 seconds how far it is, and not more often.
func TestFoldingIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	var log bytes.Buffer
	at := time.Unix(1_800_000_000, 0)
	l := &foldLog{logger: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return at }, next: at.Add(foldLogEvery)}
	for done := int64(1); done <= 12; done++ { // one a second
		at = at.Add(time.Second)
		l.folding("state.db", done*1000, 40_000)
	}
	if got := strings.Count(log.String(), "folding the log"); got != 2 || !strings.Contains(log.String(), "file=state.db events=10000 of=40000 percent=25") {
		t.Errorf("%d lines: %s", got, log.String())
	}
	message := make([]byte, 256)
	n, err := socket.Read(message)
	if want := "STATUS=Folding state.db: 5000 of 40000 events, 12 %\nEXTEND_TIMEOUT_USEC=60000000"; err != nil || string(message[:n]) != want {
		t.Errorf("systemd hears %q, %v", message[:n], err)
	}
}

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
	c := configOf(t, "--data-dir", dir, "--disk-reserve", "1MiB")
	for _, file := range datadir.StateFiles {
		_ = os.Remove(filepath.Join(dir, file))
	}
	told := map[string]int64{}
	c.folding = func(file string, done, total int64) { told[file] = done*1000 + total }
	ledgetest.MustDo(t, mustOpenData(t, c).close())
	if n := told["state.db"]; n == 0 || n/1000 != n%1000 {
		t.Errorf("a fold has told %v", told)
	}
}
