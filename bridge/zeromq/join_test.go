package zeromq

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// 4: connections that say nothing keep nobody out, even when there are more of them than are
// allowed.
func TestIdleConnectionsDoNotBlockJoins(t *testing.T) {
	p := MustListen(t, Options{HandshakeTimeout: time.Hour, MaxSubscribers: 100})
	first := dialPeer(t, p)
	for range 200 {
		dialPeer(t, p)
	}
	c := MustJoin(t, p, "topic")
	MustPublish(t, p, "topic", "body")
	c.want("topic", "body")
	first.wantEnd()
}

// 4: who does not finish the handshake in time is disconnected.
func TestHandshakeTimeout(t *testing.T) {
	p := MustListen(t, Options{HandshakeTimeout: 50 * time.Millisecond})
	for _, begin := range []string{"", "\xff", rawGreeting(3, "NULL"), rawGreeting(3, "NULL") + "\x04\x20"} {
		c := dialPeer(t, p)
		c.send(begin)
		c.wantEnd()
	}
}

func TestMaxSubscribers(t *testing.T) {
	p := MustListen(t, Options{MaxSubscribers: 2})
	MustJoin(t, p, "a")
	second := MustJoin(t, p, "b")
	dialPeer(t, p).wantEnd()
	second.Close()
	eventually(t, "the second is gone", func() bool { return p.Subscribers() == 1 })
	MustJoin(t, p, "c")
}

// A message that is published as soon as a topic shows reaches its subscriber.
func TestTopicsShowWhenSubscribed(t *testing.T) {
	p := MustListen(t, Options{})
	for range 200 {
		c := dialPeer(t, p)
		c.send(rawGreeting(3, "NULL") + rawReady(subMeta) + rawFrame(0, "\x01topic"))
		within(t, "subscription", func() {
			for len(p.Topics()) == 0 {
				runtime.Gosched()
			}
		})
		MustPublish(t, p, "topic", "body")
		c.shaken()
		c.want("topic", "body")
		c.Close()
		eventually(t, "leave", func() bool { return len(p.connected()) == 0 })
	}
}

// 12: who cannot be understood is told apart in the log.
func TestRefusals(t *testing.T) {
	for sent, want := range map[string]string{
		rawGreeting(1, "NULL"):  "ZMTP revision 1 is older than 3",
		rawGreeting(2, ""):      "upgrade the subscriber",
		rawGreeting(3, "CURVE"): `security mechanism \"CURVE\" is not that of the channels of this socket, which is NULL`,
		rawGreeting(3, "PLAIN"): `security mechanism \"PLAIN\" is not that of the channels`,
		rawGreeting(3, "NULL") + rawReady("\x0bSocket-Type\x00\x00\x00\x03PUB"): `socket type \"PUB\" cannot subscribe`,
		"GET / HTTP/1.1\r\n": "not a ZMTP peer",
	} {
		var log logBuffer
		p := MustListen(t, Options{Logger: log.logger()})
		c := dialPeer(t, p)
		c.send(sent)
		c.wantEnd()
		eventually(t, want, func() bool { return strings.Contains(log.String(), want) })
	}
}

// 12: XSUB sockets, newer revisions, property names in any case and metadata of the
// application's own are all right.
func TestHandshakes(t *testing.T) {
	for _, tc := range []struct {
		major byte
		meta  string
	}{
		{3, "\x0bSocket-Type\x00\x00\x00\x04XSUB"},
		{4, subMeta},
		{3, "\x03X-a\x00\x00\x00\x01b\x0bsocket-type\x00\x00\x00\x03SUB"},
	} {
		p := MustListen(t, Options{})
		c := dialPeer(t, p)
		c.send(rawGreeting(tc.major, "NULL") + rawReady(tc.meta))
		eventually(t, "join", func() bool { return p.Subscribers() == 1 })
	}
}

// logBuffer collects what is logged.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
