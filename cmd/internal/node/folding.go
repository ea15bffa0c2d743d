package node

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// foldLogEvery is the time between two lines about a fold, which may take minutes.
const foldLogEvery = 5 * time.Second

// FoldLog tells the log, systemd and clients how far a fold at a start has come.
type FoldLog struct {
	logger *slog.Logger
	Now    func() time.Time // the clock
	next   time.Time        // of the next line
	text   atomic.Pointer[string]
}

// NewFoldLog returns a FoldLog whose first line comes after 5 seconds.
func NewFoldLog(logger *slog.Logger) *FoldLog {
	return &FoldLog{logger: logger, Now: time.Now, next: time.Now().Add(foldLogEvery)}
}

// Progress returns a text for a message, such as "41 % of 200000 events of state.db are folded"; "" before anything is.
func (l *FoldLog) Progress() string {
	if text := l.text.Load(); text != nil {
		return *text
	}
	return ""
}

// Folding tells that done of total events of a file are folded.
func (l *FoldLog) Folding(file string, done, total int64) {
	percent := done * 100 / max(total, 1)
	l.text.Store(new(fmt.Sprintf("%d %% of %d events of %s are folded", percent, total, file)))
	if l.Now().Before(l.next) {
		return
	}
	l.next = l.Now().Add(foldLogEvery)
	l.logger.Info("folding the log", "file", file, "events", done, "of", total, "percent", percent)
	status := fmt.Sprintf("STATUS=Folding %s: %d of %d events, %d %%\nEXTEND_TIMEOUT_USEC=%d", file, done, total, percent, (12 * foldLogEvery).Microseconds())
	if _, err := daemon.SdNotify(false, status); err != nil {
		l.logger.Debug("systemd cannot be told", "error", err)
	}
}
