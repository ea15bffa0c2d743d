package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// What a client can have logged is bounded: of one message, so many lines about one client and about all of them pass in an interval.
// The rest is counted, and the count logged when the interval is over.
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
	return limitedLog{to, &logLines{to: to, interval: logInterval, counts: map[logKey]int{}}, ""}
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

// logKey is what lines are counted by; client is empty in the key of all clients.
type logKey struct {
	level           slog.Level
	message, client string
}

// logLines counts the lines of the current interval, which begins with the first line after the one before.
type logLines struct {
	to       slog.Handler
	interval time.Duration

	mu     sync.Mutex
	counts map[logKey]int
}

// allow counts a line and reports whether it passes.
func (l *logLines) allow(level slog.Level, message, client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.counts) == 0 {
		time.AfterFunc(l.interval, l.report)
	}
	all := logKey{level, message, ""}
	_, known := l.counts[all]
	if !known && len(l.counts) >= logMessages {
		all, client = logKey{level, "other messages", ""}, ""
	}
	l.counts[all]++
	if client == "" {
		return l.counts[all] <= logLinesOfAll
	}
	one := logKey{level, message, client}
	if _, known := l.counts[one]; !known && len(l.counts) >= logMessages {
		one.client = "other clients"
	}
	l.counts[one]++
	if l.counts[one] > logLinesOfClient {
		l.counts[all]-- // leaves lines for the others
		return false
	}
	return l.counts[all] <= logLinesOfAll
}

// report ends the interval and logs what did not pass in it.
func (l *logLines) report() {
	l.mu.Lock()
	counts := l.counts
	l.counts = map[logKey]int{}
	l.mu.Unlock()
	suppressed := map[logKey]int{} // by message
	for key, n := range counts {
		most := logLinesOfClient
		if key.client == "" {
			most = logLinesOfAll
		}
		suppressed[logKey{key.level, key.message, ""}] += max(n-most, 0)
	}
	for key, n := range suppressed {
		if n == 0 || !l.to.Enabled(context.Background(), key.level) {
			continue
		}
		r := slog.NewRecord(time.Now(), key.level, "log lines suppressed", 0)
		r.AddAttrs(slog.String("message", key.message), slog.Int("count", n), slog.Any("clients", clientsOf(counts, key)))
		_ = l.to.Handle(context.Background(), r)
	}
}

// clientsOf names the clients that had lines of a message suppressed, ten at most.
func clientsOf(counts map[logKey]int, of logKey) (clients []string) {
	for key, n := range counts {
		if key.level == of.level && key.message == of.message && key.client != "" && n > logLinesOfClient {
			clients = append(clients, key.client)
		}
	}
	slices.Sort(clients)
	return clients[:min(len(clients), 10)]
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
