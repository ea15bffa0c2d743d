package node

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	l := &FoldLog{logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return at }, next: at.Add(foldLogEvery)}
	for done := int64(1); done <= 12; done++ { // one a second
		at = at.Add(time.Second)
		l.Folding("state.db", done*1000, 40_000)
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
