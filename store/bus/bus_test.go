package bus_test

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/store"
	"ledge/store/bus"
	"ledge/store/osfile"
	"ledge/store/storetest"
)

// patience is how long a test waits for a condition.
const patience = time.Minute

// node is a log with a bus.
type node struct {
	t         *testing.T
	dir       string
	o         bus.Options
	store     *store.Store
	appenders []*store.Appender
	bus       *bus.Bus
	full      atomic.Bool   // whether the log believes that its disk is full
	asked     atomic.Uint64 // how often it has looked
}

func (n *node) freeBytes(dir string) (uint64, error) {
	n.asked.Add(1)
	if n.full.Load() {
		return 0, nil
	}
	return osfile.FreeBytes(dir)
}

// mustOpen opens the logs and the bus in a folder.
func mustOpen(t *testing.T, dir string, o bus.Options) *node {
	t.Helper()
	n := &node{t: t, dir: dir, o: o}
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	var err error
	log := store.Options{Dir: filepath.Join(dir, "nats"), ReserveBytes: 1 << 20, Logger: logger, FreeBytes: n.freeBytes}
	if n.store, err = store.Open(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*store.Log{n.store.Events(), n.store.Notifications(), n.store.Readings()} {
		a, err := store.NewAppender(t.Context(), l, storetest.NewProjection(), store.AppenderOptions{Messages: true})
		if err != nil {
			t.Fatal(err)
		}
		n.appenders = append(n.appenders, a)
	}
	if n.o.Dir == "" {
		n.o.Dir = filepath.Join(dir, "bus")
	}
	if n.o.Logger == nil {
		n.o.Logger = logger
	}
	n.openBus()
	t.Cleanup(n.close)
	return n
}

func (n *node) openBus() {
	n.t.Helper()
	var err error
	if n.bus, err = bus.Open(n.t.Context(), n.o, n.appenders...); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) close() {
	n.bus.Close()
	for _, a := range n.appenders {
		_ = a.Close()
	}
	_ = n.store.Close()
}

// add records n events, one by one.
func (n *node) add(prefix string, count int) {
	n.t.Helper()
	for i := range count {
		storetest.MustSubmit(n.t, n.appenders[0], storetest.Add(fmt.Sprintf("%s-%d", prefix, i)))
	}
}

// connect returns a client.
func (n *node) connect(o ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	n.t.Helper()
	nc, err := nats.Connect(n.bus.URL(), append(o, nats.Timeout(patience))...)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		n.t.Fatal(err)
	}
	return nc, js
}

// caughtUp waits until no copy lags.
func (n *node) caughtUp() {
	n.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		lag := uint64(0)
		for _, s := range n.bus.Stats() {
			lag += s.Lag
		}
		if lag == 0 {
			return
		}
		if time.Now().After(end) {
			n.t.Fatalf("the copies lag: %+v", n.bus.Stats())
		}
	}
}

// equal holds that the copy of a log has the messages of the log from its first one to the log's last, byte for byte, and returns the first.
func (n *node) equal(l *store.Log) (first uint64) {
	n.t.Helper()
	n.caughtUp()
	_, js := n.connect()
	s, err := js.Stream(n.t.Context(), l.Name())
	if err != nil {
		n.t.Fatal(err)
	}
	state := s.CachedInfo().State
	if last, _ := l.Last(); state.LastSeq != last || state.Msgs != state.LastSeq-state.FirstSeq+1 {
		n.t.Errorf("%s: the copy has %d to %d, %d messages, and the log ends at %d",
			l.Name(), state.FirstSeq, state.LastSeq, state.Msgs, last)
	}
	if state.Msgs == 0 {
		return state.FirstSeq
	}
	c, err := s.OrderedConsumer(n.t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		n.t.Fatal(err)
	}
	for group, err := range l.Messages(n.t.Context(), state.FirstSeq, state.LastSeq) {
		if err != nil {
			n.t.Fatal(err)
		}
		for _, want := range group {
			m, err := c.Next(jetstream.FetchMaxWait(patience))
			if err != nil {
				n.t.Fatal(err)
			}
			meta, _ := m.Metadata()
			if meta.Sequence.Stream != want.Seq || m.Subject() != want.Subject || string(m.Data()) != string(want.Data) {
				n.t.Fatalf("%s: got %d %s with %d bytes, want %d %s with %d",
					l.Name(), meta.Sequence.Stream, m.Subject(), len(m.Data()), want.Seq, want.Subject, len(want.Data))
			}
			for _, f := range want.Header {
				if got := m.Headers().Get(f.Name); got != f.Value {
					n.t.Fatalf("%s %d: header %s is %q, want %q", l.Name(), want.Seq, f.Name, got, f.Value)
				}
			}
		}
	}
	return state.FirstSeq
}
