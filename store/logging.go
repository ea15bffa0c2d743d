package store

import (
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// serverLog routes the server's log to slog: notices are Debug, for Ledge says by itself what an operator wants to
// know. It keeps the first fatal line, after which the server does not run.
type serverLog struct {
	to     *slog.Logger
	client func(cid uint64) string // nil for a server that has no clients but us
	once   sync.Once
	fatal  chan string
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
	l.warn(line)
}

func (l *serverLog) Errorf(f string, v ...any) { l.warn(fmt.Sprintf(f, v...)) }

// warn logs a line. One about a client names the client apart, so that no client's lines are taken for those of another or of the
// server itself.
func (l *serverLog) warn(line string) {
	about := aboutClient.FindStringSubmatch(line)
	if about == nil || l.client == nil {
		l.to.Warn(line)
		return
	}
	cid, _ := strconv.ParseUint(about[1], 10, 64)
	reason := about[2]
	if len(reason) > longestReason {
		reason = strings.ToValidUTF8(reason[:longestReason], "") + "…"
	}
	l.to.Warn("tap complains or is refused", "client", l.client(cid), "reason", reason)
}

// aboutClient is how the server's lines about a client begin.
var aboutClient = regexp.MustCompile(`^\S* ?- cid:(\d+) - (.*)`)

// longestReason cuts what a client may have chosen, in bytes.
const longestReason = 300

func (l *serverLog) Fatalf(f string, v ...any) {
	l.once.Do(func() { l.fatal <- fmt.Sprintf(f, v...) })
}
