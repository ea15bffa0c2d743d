// Package natsserver starts a NATS server in this process that does not listen by itself, with its log in slog, and connects to it.
package natsserver

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
)

// Start starts a server with these options. client names the client on a connection of the server, for the log; it is nil for a server that
// has only connections of Ledge. The error is the server's first fatal line, or that of ctx.
func Start(ctx context.Context, o *server.Options, logger *slog.Logger, client func(cid uint64) string) (*server.Server, error) {
	o.DontListen, o.NoSigs = true, true
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	lines := &serverLog{to: logger.With("from", "nats-server"), client: client, fatal: make(chan string, 1), clients: rate.NewLimiter(rate.Every(time.Second), 60)}
	s.SetLoggerV2(lines, false, false, false)
	s.Start()
	select {
	case line := <-lines.fatal:
		err = fmt.Errorf("nats server: %s", line)
	default:
		if err = ctx.Err(); err == nil {
			return s, nil
		}
	}
	Stop(s)
	return nil, err
}

// Stop stops a server and waits until it has.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// Connect connects to a server in this process.
func Connect(s *server.Server, name, user, password string) (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.Name("ledge-"+name), nats.UserInfo(user, password),
		nats.CustomInboxPrefix("$LEDGE.inbox"), // clients may subscribe to _INBOX
		nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0), nats.NoEcho(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return nil, fmt.Errorf("connect in process: %w", err)
	}
	return nc, nil
}

// serverLog routes the server's log to slog. Notices are Debug, because Ledge itself logs what an operator wants to know.
// It keeps the first fatal line, after which the server does not run.
type serverLog struct {
	to     *slog.Logger
	client func(cid uint64) string // nil for a server that has only connections of Ledge
	once   sync.Once
	fatal  chan string
	// clients bounds the lines about clients.
	clients *rate.Limiter
}

// intended are warnings of the server about what is intended: the passwords are made for each run or protect nothing,
// and Ledge itself bounds the size of a message.
var intended = []string{"Plaintext passwords detected", "Maximum payloads over"}

// Noticef logs a notice. That a client is cut off because it is too slow is a warning here.
func (l *serverLog) Noticef(f string, v ...any) {
	if line := fmt.Sprintf(f, v...); strings.Contains(line, "Slow Consumer") {
		l.warn(line)
	} else {
		l.to.Debug(line)
	}
}

func (l *serverLog) Debugf(f string, v ...any) { l.to.Debug(fmt.Sprintf(f, v...)) }
func (l *serverLog) Tracef(f string, v ...any) { l.to.Debug(fmt.Sprintf(f, v...)) }

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
// server itself. There are 60 of those at once and one a second at most.
func (l *serverLog) warn(line string) {
	about := aboutClient.FindStringSubmatch(line)
	if about == nil || l.client == nil {
		l.to.Warn(line)
		return
	}
	if !l.clients.Allow() {
		return
	}
	cid, _ := strconv.ParseUint(about[1], 10, 64)
	reason := about[2]
	if len(reason) > longestReason {
		reason = strings.ToValidUTF8(reason[:longestReason], "") + "…"
	}
	l.to.Warn("NATS client complains or is refused", "client", l.client(cid), "reason", reason)
}

// aboutClient is how the server's lines about a client begin.
var aboutClient = regexp.MustCompile(`^\S* ?- cid:(\d+) - (.*)`)

// longestReason cuts what a client may have chosen, in bytes.
const longestReason = 300

func (l *serverLog) Fatalf(f string, v ...any) {
	l.once.Do(func() { l.fatal <- fmt.Sprintf(f, v...) })
}
