package main

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// foldLogEvery is the time between two lines about a fold, which may take minutes.
const foldLogEvery = 5 * time.Second

// foldLog tells the log, systemd and clients how far a start has come that folds.
type foldLog struct {
	logger *slog.Logger
	now    func() time.Time
	next   time.Time // of the next line
	text   atomic.Pointer[string]
}

func newFoldLog(logger *slog.Logger) *foldLog {
	return &foldLog{logger: logger, now: time.Now, next: time.Now().Add(foldLogEvery)}
}

// progress is for a message, such as "41 % of 200000 events of state.db are folded"; "" before anything is.
func (l *foldLog) progress() string {
	if text := l.text.Load(); text != nil {
		return *text
	}
	return ""
}

func (l *foldLog) folding(file string, done, total int64) {
	percent := done * 100 / max(total, 1)
	l.text.Store(new(fmt.Sprintf("%d %% of %d events of %s are folded", percent, total, file)))
	if l.now().Before(l.next) {
		return
	}
	l.next = l.now().Add(foldLogEvery)
	l.logger.Info("folding the log", "file", file, "events", done, "of", total, "percent", percent)
	status := fmt.Sprintf("STATUS=Folding %s: %d of %d events, %d %%\nEXTEND_TIMEOUT_USEC=%d", file, done, total, percent, (12 * foldLogEvery).Microseconds())
	if _, err := daemon.SdNotify(false, status); err != nil {
		l.logger.Debug("systemd cannot be told", "error", err)
	}
}
