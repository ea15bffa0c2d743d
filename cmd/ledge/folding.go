package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// foldLogEvery is the time between two lines about a fold, which may take minutes.
const foldLogEvery = 5 * time.Second

// foldLog tells the log and systemd how far a start has come that folds.
type foldLog struct {
	logger *slog.Logger
	now    func() time.Time
	next   time.Time // of the next line
}

func newFoldLog(logger *slog.Logger) *foldLog {
	return &foldLog{logger: logger, now: now, next: now().Add(foldLogEvery)}
}

func (l *foldLog) folding(file string, done, total int64) {
	if l.now().Before(l.next) {
		return
	}
	l.next = l.now().Add(foldLogEvery)
	percent := done * 100 / max(total, 1)
	l.logger.Info("folding the log", "file", file, "events", done, "of", total, "percent", percent)
	status := fmt.Sprintf("STATUS=Folding %s: %d of %d events, %d %%\nEXTEND_TIMEOUT_USEC=%d", file, done, total, percent, (12 * foldLogEvery).Microseconds())
	if _, err := daemon.SdNotify(false, status); err != nil {
		l.logger.Debug("systemd cannot be told", "error", err)
	}
}
