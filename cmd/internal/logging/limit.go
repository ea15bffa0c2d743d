package logging

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

// The limits of the lines that clients cause. Of one message, this many lines about one client, and about all clients, pass at once, and as
// many in each interval after that. Lines beyond the limits are counted, and the count is logged at the end of the interval.
const (
	interval      = 10 * time.Second
	linesOfClient = 20
	linesOfAll    = 100
	// mostKeys is how many messages and clients have an allowance of their own at a time. Beyond that they share one.
	mostKeys = 1024
	// valueBytes is the length of the longest value of a line. Longer values are cut.
	valueBytes = 4 << 10
)

// limitedHandler is a handler that passes on the lines that [lineLimits] allows.
type limitedHandler struct {
	slog.Handler
	lines  *lineLimits
	client string // from WithAttrs
}

func newLimitedHandler(to slog.Handler) slog.Handler {
	return limitedHandler{to, &lineLimits{to: to, interval: interval, now: time.Now, limiters: map[lineKey]*rate.Limiter{}, suppressed: map[lineKey]int{}}, ""}
}

func (l limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	client := l.client
	r.Attrs(func(a slog.Attr) bool {
		client = findClient(a, client)
		return true
	})
	if !l.lines.allow(r.Level, r.Message, client) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

func (l limitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		l.client = findClient(a, l.client)
	}
	l.Handler = l.Handler.WithAttrs(attrs)
	return l
}

func (l limitedHandler) WithGroup(name string) slog.Handler {
	l.Handler = l.Handler.WithGroup(name)
	return l
}

// findClient returns the client that an attribute names, or known if it names none.
func findClient(a slog.Attr, known string) string {
	if a.Key != "client" && a.Key != "remote" {
		return known
	}
	text := a.Value.Resolve().String()
	if host, _, err := net.SplitHostPort(text); err == nil {
		return host
	}
	return text
}

// lineKey is a kind of lines with one limit. client is empty in the key of all clients.
type lineKey struct {
	level           slog.Level
	message, client string
}

// lineLimits limits the lines, and counts the suppressed ones.
type lineLimits struct {
	to       slog.Handler
	interval time.Duration
	now      func() time.Time

	mu         sync.Mutex
	limiters   map[lineKey]*rate.Limiter
	suppressed map[lineKey]int // in this interval
}

// allow reports whether a line passes.
func (l *lineLimits) allow(level slog.Level, message, client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.limiters) == 0 {
		time.AfterFunc(l.interval, l.report)
	}
	key := lineKey{level, message, ""}
	if l.limiters[key] == nil && len(l.limiters) >= mostKeys {
		key.message, client = "other messages", ""
	}
	all := l.limiter(key, linesOfAll)
	if client != "" {
		if key.client = client; l.limiters[key] == nil && len(l.limiters) >= mostKeys {
			key.client = "other clients"
		}
		if !l.limiter(key, linesOfClient).AllowN(l.now(), 1) { // takes nothing from the lines of the others
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

func (l *lineLimits) limiter(key lineKey, most int) *rate.Limiter {
	one := l.limiters[key]
	if one == nil {
		one = rate.NewLimiter(rate.Every(interval/time.Duration(most)), most)
		l.limiters[key] = one
	}
	return one
}

// report ends the interval: it logs how many lines of each message were suppressed, with at most ten of their clients, and forgets the
// limiters that are full again.
func (l *lineLimits) report() {
	l.mu.Lock()
	suppressed := l.suppressed
	l.suppressed = map[lineKey]int{}
	maps.DeleteFunc(l.limiters, func(_ lineKey, one *rate.Limiter) bool { return one.TokensAt(l.now()) >= float64(one.Burst()) })
	if len(l.limiters) > 0 {
		time.AfterFunc(l.interval, l.report)
	}
	l.mu.Unlock()
	counts, clients := map[lineKey]int{}, map[lineKey][]string{}
	for key, n := range suppressed {
		message := lineKey{key.level, key.message, ""}
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

// cutValue cuts a value that is too long for a line. It is for [slog.HandlerOptions].
func cutValue(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
	case slog.KindAny:
		if _, isError := a.Value.Any().(error); !isError {
			return a
		}
	default:
		return a
	}
	if text := a.Value.String(); len(text) > valueBytes && a.Key != "stack" {
		a.Value = slog.StringValue(fmt.Sprintf("%.*s… (%d bytes)", valueBytes/4, text, len(text))) // the precision counts characters
	}
	return a
}
