package tap_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"
	"ledge/store/tap"

	"github.com/nats-io/nats.go"
)

const patience = time.Minute // how long a test waits before it fails

// options opens a store with a tap listener in dir.
func options(dir string) store.Options {
	return store.Options{Dir: dir, Tap: &tap.Options{}, ReserveBytes: 1 << 20, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func mustOpen(tb testing.TB, o store.Options) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), o)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	if err := s.Tap().Listen(tb.Context()); err != nil {
		tb.Fatalf("listen for taps: %v", err)
	}
	return s
}

// mustTap opens a store with a tap listener and an appender of events, and connects as a tap does.
func mustTap(t *testing.T) (*store.Store, *store.Appender, *nats.Conn) {
	t.Helper()
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	return s, a, mustConnect(t, s.Tap().URL())
}

func mustConnect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatalf("connect to %q: %v", url, err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func mustSubscribe(t *testing.T, nc *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return sub
}

func mustNext(t *testing.T, sub *nats.Subscription) *nats.Msg {
	t.Helper()
	m, err := sub.NextMsg(patience)
	if err != nil {
		t.Fatalf("nothing on %s: %v", sub.Subject, err)
	}
	return m
}

// mustPublish records n events and waits until they are published live.
func mustPublish(t *testing.T, s *store.Store, a *store.Appender, n int) {
	t.Helper()
	sub := mustSubscribe(t, mustConnect(t, s.Tap().URL()), "ledge.>")
	storetest.MustAdd(t, a, "a", n)
	for range n {
		mustNext(t, sub)
	}
}

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

// eventually waits until something holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("in %s never: %s", patience, what)
		}
	}
}

func newLogger(to *lines) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
