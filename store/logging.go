package store

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// serverLog routes the server's log to slog: notices are Debug, for Ledge says by itself what an operator wants to
// know. It keeps the first fatal line, after which the server does not run.
type serverLog struct {
	to    *slog.Logger
	once  sync.Once
	fatal chan string
}

func newServerLog(to *slog.Logger) *serverLog {
	return &serverLog{to: to.With("from", "nats-server"), fatal: make(chan string, 1)}
}

// intended are warnings of the server about what is meant to be so: the passwords are made for each run or keep nobody
// out, and the size of a message is bounded by ours.
var intended = []string{"Plaintext passwords detected", "Maximum payloads over"}

func (l *serverLog) Noticef(f string, v ...any) { l.to.Debug(fmt.Sprintf(f, v...)) }
func (l *serverLog) Debugf(f string, v ...any)  { l.to.Debug(fmt.Sprintf(f, v...)) }
func (l *serverLog) Tracef(f string, v ...any)  { l.to.Debug(fmt.Sprintf(f, v...)) }

func (l *serverLog) Warnf(f string, v ...any) {
	line := fmt.Sprintf(f, v...)
	for _, known := range intended {
		if strings.HasPrefix(line, known) {
			l.to.Debug(line)
			return
		}
	}
	l.to.Warn(line)
}

func (l *serverLog) Errorf(f string, v ...any) { l.to.Warn(fmt.Sprintf(f, v...)) }

func (l *serverLog) Fatalf(f string, v ...any) {
	l.once.Do(func() { l.fatal <- fmt.Sprintf(f, v...) })
}
