package zeromq

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// hang is how long a test waits for what must happen before it reports a hang.
const hang = time.Minute

var quiet = slog.New(slog.DiscardHandler)

// roomy gives subscribers queues that a test does not fill by publishing faster than it reads.
func roomy(o Options) Options {
	setDefault(&o.QueueMessages, 1<<16)
	setDefault(&o.QueueBytes, 16<<20)
	return o
}

func MustListen(tb testing.TB, o Options) *Publisher {
	o = roomy(o)
	tb.Helper()
	if o.Logger == nil {
		o.Logger = quiet
	}
	p, err := Listen("127.0.0.1", 0, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close(0) })
	return p
}

func MustPublish(tb testing.TB, p *Publisher, topic, body string) {
	tb.Helper()
	if err := p.Publish(topic, []byte(body)); err != nil {
		tb.Fatalf("publish %q: %v", topic, err)
	}
}

// eventually waits until a condition holds that another goroutine or process brings about.
func eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(hang); time.Now().Before(end); <-poll.C {
		if cond() {
			return
		}
	}
	tb.Fatalf("never: %s", what)
}

// within reports a hang of f.
func within(tb testing.TB, what string, f func()) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(hang):
		tb.Fatalf("hangs: %s", what)
	}
}

// peer is a ZMTP peer over plain TCP. It shares no code with what it tests.
type peer struct {
	tb testing.TB
	*net.TCPConn
	r *bufio.Reader
}

func dialPeer(tb testing.TB, p *Publisher) *peer {
	tb.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.Port()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return newPeer(tb, c)
}

func newPeer(tb testing.TB, c net.Conn) *peer { return &peer{tb, c.(*net.TCPConn), bufio.NewReader(c)} }

// MustJoin connects a raw SUB peer that subscribes to topics, and waits until they count.
func MustJoin(tb testing.TB, p *Publisher, topics ...string) *peer {
	tb.Helper()
	c := dialPeer(tb, p)
	c.join(p, topics...)
	return c
}

// join subscribes to topics, and waits until they count.
func (c *peer) join(p *Publisher, topics ...string) {
	c.tb.Helper()
	c.shake()
	for _, t := range topics {
		c.subscribe(t)
	}
	eventually(c.tb, "subscription", func() bool { return slices.Equal(c.subscribed(p), slices.Sorted(slices.Values(topics))) })
}

// subscribed returns what the publisher counts for this peer, as often as it counts it.
func (c *peer) subscribed(p *Publisher) (topics []string) {
	s := c.subscriber(p)
	if s == nil {
		return nil
	}
	s.subs.mu.RLock()
	defer s.subs.mu.RUnlock()
	for t, n := range s.subs.refs {
		topics = append(topics, slices.Repeat([]string{t}, n)...)
	}
	return slices.Sorted(slices.Values(topics))
}

// subscriber is what the publisher has of this peer, or nil.
func (c *peer) subscriber(p *Publisher) *subscriber {
	for _, s := range p.connected() {
		if s.remote == c.LocalAddr().String() {
			return s
		}
	}
	return nil
}

// rawGreeting returns the 64 bytes a peer of the given version and mechanism sends first.
func rawGreeting(major byte, mechanism string) string {
	g := "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f" + string([]byte{major, 1}) + mechanism
	return g + strings.Repeat("\x00", 64-len(g))
}

// rawReady returns a READY frame with the given metadata.
func rawReady(meta string) string {
	return string([]byte{4, byte(6 + len(meta)), 5}) + "READY" + meta
}

const subMeta = "\x0bSocket-Type\x00\x00\x00\x03SUB" + "\x08Identity\x00\x00\x00\x00"

func (c *peer) send(s string) {
	c.tb.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.tb.Fatalf("send %.40q: %v", s, err)
	}
}

func (c *peer) shake() {
	c.tb.Helper()
	c.send(rawGreeting(3, "NULL") + rawReady(subMeta))
	c.shaken()
}

// shaken reads the publisher's half of the handshake.
func (c *peer) shaken() {
	c.tb.Helper()
	greeting := make([]byte, 64)
	c.SetReadDeadline(time.Now().Add(hang))
	if _, err := io.ReadFull(c.r, greeting); err != nil {
		c.tb.Fatalf("read greeting: %v", err)
	}
	flags, body := c.frame()
	if flags != 4 || !strings.HasPrefix(body, "\x05READY") {
		c.tb.Fatalf("got frame %d %q, want READY", flags, body)
	}
}

func (c *peer) subscribe(topic string)   { c.send(rawFrame(0, "\x01"+topic)) }
func (c *peer) unsubscribe(topic string) { c.send(rawFrame(0, "\x00"+topic)) }

func rawFrame(flags byte, body string) string {
	if len(body) < 256 {
		return string([]byte{flags, byte(len(body))}) + body
	}
	return string(binary.BigEndian.AppendUint64([]byte{flags | 2}, uint64(len(body)))) + body
}

func (c *peer) readFrame() (flags byte, body string, err error) {
	c.SetReadDeadline(time.Now().Add(hang))
	flags, err = c.r.ReadByte()
	if err != nil {
		return 0, "", err
	}
	size := make([]byte, 8)
	if flags&2 != 0 {
		_, err = io.ReadFull(c.r, size)
	} else {
		_, err = io.ReadFull(c.r, size[7:])
	}
	if err != nil {
		return 0, "", err
	}
	b := make([]byte, binary.BigEndian.Uint64(size))
	_, err = io.ReadFull(c.r, b)
	return flags, string(b), err
}

func (c *peer) frame() (flags byte, body string) {
	c.tb.Helper()
	flags, body, err := c.readFrame()
	if err != nil {
		c.tb.Fatalf("read frame: %v", err)
	}
	return flags, body
}

// message reads one message of two frames.
func (c *peer) message() (topic, body string) {
	c.tb.Helper()
	first, topic := c.frame()
	second, body := c.frame()
	if first&^2 != 1 || second&^2 != 0 {
		c.tb.Fatalf("got flags %d and %d, want two frames", first, second)
	}
	return topic, body
}

func (c *peer) want(topic, body string) {
	c.tb.Helper()
	if t, b := c.message(); t != topic || b != body {
		c.tb.Fatalf("got %q %.40q, want %q %.40q", t, b, topic, body)
	}
}

// wantEnd reads until the publisher closes the connection.
func (c *peer) wantEnd() {
	c.tb.Helper()
	c.SetReadDeadline(time.Now().Add(hang))
	if _, err := io.Copy(io.Discard, c.r); err != nil && strings.Contains(err.Error(), "timeout") {
		c.tb.Fatal("the connection stays open")
	}
}
