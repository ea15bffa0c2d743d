package store

import (
	"fmt"
	"log/slog"
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

func (l *serverLog) Noticef(f string, v ...any) { l.to.Debug(fmt.Sprintf(f, v...)) }
func (l *serverLog) Debugf(f string, v ...any)  { l.to.Debug(fmt.Sprintf(f, v...)) }
func (l *serverLog) Tracef(f string, v ...any)  { l.to.Debug(fmt.Sprintf(f, v...)) }
func (l *serverLog) Warnf(f string, v ...any)   { l.to.Warn(fmt.Sprintf(f, v...)) }
func (l *serverLog) Errorf(f string, v ...any)  { l.to.Warn(fmt.Sprintf(f, v...)) }

func (l *serverLog) Fatalf(f string, v ...any) {
	l.once.Do(func() { l.fatal <- fmt.Sprintf(f, v...) })
}
