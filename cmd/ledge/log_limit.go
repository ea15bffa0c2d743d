package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What a client can have logged is bounded: of one message, so many lines about one client and about all of them pass at once, and as many
// in each interval after that. The others are counted, and the count is logged at the end of the interval.
const (
	logInterval      = 10 * time.Second
	logLinesOfClient = 20
	logLinesOfAll    = 100
	// logMessages is how many messages and clients are told apart at a time; beyond that they share one allowance.
	logMessages = 1024
	// logValueBytes is the longest value of a line; what is longer is cut.
	logValueBytes = 4 << 10
)

// limitedLog is a handler that passes on what [logLines] allows.
type limitedLog struct {
	slog.Handler
	lines  *logLines
	client string // from WithAttrs
}

func newLimitedLog(to slog.Handler) slog.Handler {
	return limitedLog{to, &logLines{to: to, interval: logInterval, now: time.Now, limiters: map[logKey]*rate.Limiter{}, suppressed: map[logKey]int{}}, ""}
}

func (l limitedLog) Handle(ctx context.Context, r slog.Record) error {
	client := l.client
	r.Attrs(func(a slog.Attr) bool {
		client = clientOf(a, client)
		return true
	})
	if !l.lines.allow(r.Level, r.Message, client) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

func (l limitedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		l.client = clientOf(a, l.client)
	}
	l.Handler = l.Handler.WithAttrs(attrs)
	return l
}

func (l limitedLog) WithGroup(name string) slog.Handler {
	l.Handler = l.Handler.WithGroup(name)
	return l
}

// clientOf returns the client that an attribute names, else the one that is known.
func clientOf(a slog.Attr, known string) string {
	if a.Key != "client" && a.Key != "remote" {
		return known
	}
	text := a.Value.Resolve().String()
	if host, _, err := net.SplitHostPort(text); err == nil {
		return host
	}
	return text
}

// logKey is what lines are limited by; client is empty in the key of all clients.
type logKey struct {
	level           slog.Level
	message, client string
}

// logLines limits the lines, and counts those that do not pass.
type logLines struct {
	to       slog.Handler
	interval time.Duration
	now      func() time.Time

	mu         sync.Mutex
	limiters   map[logKey]*rate.Limiter
	suppressed map[logKey]int // in this interval
}

// allow reports whether a line passes.
func (l *logLines) allow(level slog.Level, message, client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.limiters) == 0 {
		time.AfterFunc(l.interval, l.report)
	}
	key := logKey{level, message, ""}
	if l.limiters[key] == nil && len(l.limiters) >= logMessages {
		key.message, client = "other messages", ""
	}
	all := l.limiter(key, logLinesOfAll)
	if client != "" {
		if key.client = client; l.limiters[key] == nil && len(l.limiters) >= logMessages {
			key.client = "other clients"
		}
		if !l.limiter(key, logLinesOfClient).AllowN(l.now(), 1) { // takes nothing from the lines of the others
			l.suppressed[key]++
			return false
		}
	}
	if !all.AllowN(l.now(), 1) {
		l.suppressed[key]++
		return false
	}
	return true
}

func (l *logLines) limiter(key logKey, most int) *rate.Limiter {
	one := l.limiters[key]
	if one == nil {
		one = rate.NewLimiter(rate.Every(logInterval/time.Duration(most)), most)
		l.limiters[key] = one
	}
	return one
}

// report ends the interval: it logs how many lines of each message did not pass in it, with ten of their clients at most, and forgets
// the limiters that limit nothing any more.
func (l *logLines) report() {
	l.mu.Lock()
	suppressed := l.suppressed
	l.suppressed = map[logKey]int{}
	maps.DeleteFunc(l.limiters, func(_ logKey, one *rate.Limiter) bool { return one.TokensAt(l.now()) >= float64(one.Burst()) })
	if len(l.limiters) > 0 {
		time.AfterFunc(l.interval, l.report)
	}
	l.mu.Unlock()
	counts, clients := map[logKey]int{}, map[logKey][]string{}
	for key, n := range suppressed {
		message := logKey{key.level, key.message, ""}
		counts[message] += n
		if key.client != "" {
			clients[message] = append(clients[message], key.client)
		}
	}
	for key, n := range counts {
		if !l.to.Enabled(context.Background(), key.level) {
			continue
		}
		slices.Sort(clients[key])
		r := slog.NewRecord(time.Now(), key.level, "log lines suppressed", 0)
		r.AddAttrs(slog.String("message", key.message), slog.Int("count", n), slog.Any("clients", clients[key][:min(len(clients[key]), 10)]))
		_ = l.to.Handle(context.Background(), r)
	}
}

// shortValue cuts what is too long for a line.
func shortValue(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
	case slog.KindAny:
		if _, isError := a.Value.Any().(error); !isError {
			return a
		}
	default:
		return a
	}
	if text := a.Value.String(); len(text) > logValueBytes && a.Key != "stack" {
		a.Value = slog.StringValue(fmt.Sprintf("%.*s… (%d bytes)", logValueBytes/4, text, len(text))) // the precision counts characters
	}
	return a
}
