package bus

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// deadline is how long a test waits for a condition.
const deadline = time.Minute

// served is a bus with the logs of events and readings.
type served struct {
	*Bus
	events, readings *store.Appender
	log              *lines
}

// mustServe opens logs and a bus in a temporary folder, and waits until it lets clients in.
func mustServe(t *testing.T, o Options) *served {
	t.Helper()
	dir, log := t.TempDir(), &lines{}
	o.Dir, o.Logger = filepath.Join(dir, "bus"), slog.New(slog.NewTextHandler(log, nil))
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := store.Open(t.Context(), store.Options{Dir: filepath.Join(dir, "nats"), ReserveBytes: 1 << 20, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	appender := func(l *store.Log) *store.Appender {
		a, err := store.NewAppender(t.Context(), l, storetest.NewProjection(), store.AppenderOptions{Messages: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		return a
	}
	n := &served{events: appender(s.Events()), readings: appender(s.Readings()), log: log}
	if n.Bus, err = Open(t.Context(), o, n.events, n.readings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	eventually(t, "clients are let in", func() bool {
		n.gate.mu.Lock()
		defer n.gate.mu.Unlock()
		return n.gate.server != nil
	})
	return n
}

// from connects from another address of this machine.
type from string

// Dial implements nats.CustomDialer.
func (f from) Dial(network, address string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(string(f))}}).DialContext(context.Background(), network, address)
}

// connect connects a client that does not reconnect.
func (n *served) connect(o ...nats.Option) (*nats.Conn, error) {
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	return nats.Connect(n.URL(), append([]nats.Option{quiet, nats.NoReconnect(), nats.Timeout(deadline)}, o...)...)
}

func (n *served) mustConnect(t *testing.T, o ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := n.connect(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// mustDial connects to the port from an address, without a word.
func (n *served) mustDial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := from(address).Dial("tcp", n.gate.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(deadline))
	return conn
}

// mustStall connects a client that subscribes to everything n times and reads nothing.
func (n *served) mustStall(t *testing.T, address string, subscriptions int) net.Conn {
	t.Helper()
	before := n.Clients()
	conn := n.mustDial(t, address)
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	text := "CONNECT {\"headers\":true,\"verbose\":false}\r\n"
	for sid := range subscriptions {
		text += "SUB ledge.> " + string(rune('a'+sid)) + "\r\n"
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has subscribed", func() bool {
		server, _ := n.now()
		account, err := server.LookupAccount(feedAccount)
		return err == nil && n.Clients() == before+1 && account.Interest("ledge.reading.a.b.c") >= subscriptions
	})
	return conn
}

// post records values of size bytes.
func (n *served) post(t *testing.T, count, size int) {
	t.Helper()
	for range count {
		storetest.MustSubmit(t, n.readings, storetest.Post("cam-1", make([]byte, size)))
	}
}

func mustSubscribe(t *testing.T, nc *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func mustNext(t *testing.T, sub *nats.Subscription) *nats.Msg {
	t.Helper()
	m, err := sub.NextMsg(deadline)
	if err != nil {
		t.Fatalf("nothing on %s: %v", sub.Subject, err)
	}
	return m
}

func mustStream(t *testing.T, nc *nats.Conn, name string) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(deadline))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readToEnd returns the text of a connection when the other end has closed it.
func readToEnd(t *testing.T, conn net.Conn) string {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(deadline))
	text, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection goes on")
	}
	return string(text)
}

// mustReceive returns the next value of a channel.
func mustReceive[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(deadline):
		t.Fatalf("nothing in %s", deadline)
	}
	return value
}

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
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
	for end := time.Now().Add(deadline); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("in %s never: %s", deadline, what)
		}
	}
}
