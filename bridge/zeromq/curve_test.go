package zeromq

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledge/bridge/porttest"
	"ledge/bridge/zeromqtest"
	"ledge/domain/z85"
)

// mustServer returns sockets with CURVE, and the server's keys.
func mustServer(t testing.TB, o Options) (*Sockets, zeromqtest.Keys) {
	t.Helper()
	server := zeromqtest.NewKeys()
	if o.ServerKey = server.Private[:]; o.Logger == nil {
		o.Logger = quiet
	}
	s := NewSockets(roomy(o))
	t.Cleanup(func() { s.Close(0) })
	return s, server
}

// keyed is a channel on the loopback address for some client keys.
func keyed(port int, keys ...zeromqtest.Keys) Channel {
	c := Channel{Host: "127.0.0.1", Port: port}
	for _, k := range keys {
		c.ClientKeys = append(c.ClientKeys, k.Text())
	}
	return c
}

func mustHold(t testing.TB, s *Sockets, c Channel) *Publisher {
	t.Helper()
	if err := s.Acquire(c); err != nil {
		t.Fatal(err)
	}
	return publisherOf(s, c.Host, c.Port)
}

func addressOf(p *Publisher) string { return fmt.Sprintf("127.0.0.1:%d", p.Port()) }

// curvePeer is a subscriber with CURVE that fails its test.
type curvePeer struct {
	testing.TB
	*zeromqtest.Sub
}

func mustConnect(t testing.TB, p *Publisher, server, client zeromqtest.Keys) curvePeer {
	t.Helper()
	sub, err := zeromqtest.Connect(addressOf(p), server.Public, client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sub.Conn.Close() })
	sub.Conn.SetDeadline(time.Now().Add(hang))
	return curvePeer{t, sub}
}

func mustJoinCurve(t testing.TB, p *Publisher, server, client zeromqtest.Keys, topic string) curvePeer {
	t.Helper()
	c := mustConnect(t, p, server, client)
	if err := c.Shake(); err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(topic); err != nil {
		t.Fatal(err)
	}
	eventually(t, "subscription", func() bool {
		for _, s := range p.connected() {
			if s.remote == c.Conn.LocalAddr().String() && s.subs.match([]byte(topic)) {
				return true
			}
		}
		return false
	})
	return c
}

func (c curvePeer) want(topic, body string) {
	c.Helper()
	gotTopic, gotBody, err := c.RecvMessage()
	if err != nil || string(gotTopic) != topic || string(gotBody) != body {
		c.Fatalf("got %q %.40q of %d bytes, %v; want %q %.40q of %d", gotTopic, gotBody, len(gotBody), err, topic, body, len(body))
	}
}

// wantRefused holds that the publisher ends the connection.
func (c curvePeer) wantRefused() {
	c.Helper()
	for {
		if _, err := c.Conn.Read(make([]byte, 1024)); err != nil {
			if strings.Contains(err.Error(), "timeout") {
				c.Fatal("the connection stays open")
			}
			return
		}
	}
}

// Messages of all sizes around those at which buffers and headers change arrive as they were sent, beside those of peers without CURVE.
func TestCurve(t *testing.T) {
	client := zeromqtest.NewKeys()
	s, server := mustServer(t, Options{})
	secret, open := keyed(porttest.Hold(t), client), Channel{}
	open.Host, open.Port = secret.Host, secret.Port
	p := mustHold(t, s, secret)
	c := mustJoinCurve(t, p, server, client, "cam")
	mustHold(t, s, open)
	plain := MustJoin(t, p, "cam")
	var bodies []string
	for _, n := range []int{0, 1, 221, 222, 223, 255, 256, 4000, 8000, 8091, 8100, 8192, 9000, 65536, 65537, 70000, 1 << 20, 5 << 20} {
		bodies = append(bodies, strings.Repeat("b", n))
	}
	for i, body := range bodies {
		mustReach(t, s, secret, fmt.Sprint("cam", i), body, 1)
		mustReach(t, s, open, "camera", body, 2)
		mustReach(t, s, secret, "dog", "not subscribed to", 0)
	}
	for i, body := range bodies {
		c.want(fmt.Sprint("cam", i), body)
		c.want("camera", body)
		plain.want("camera", body)
	}
	if n := p.Drops(); n != 0 {
		t.Errorf("%d drops", n)
	}
	eventually(t, "the memory is free", func() bool { return use(p).QueuedBytes == 0 })
}

// Subscriptions come as messages and as commands, and so do PING and CANCEL.
func TestCurveCommands(t *testing.T) {
	client := zeromqtest.NewKeys()
	s, server := mustServer(t, Options{})
	p := mustHold(t, s, keyed(porttest.Hold(t), client))
	c := mustJoinCurve(t, p, server, client, "a")
	topics := func(want ...string) {
		t.Helper()
		eventually(t, fmt.Sprint("topics ", want), func() bool { return fmt.Sprint(p.Topics()) == fmt.Sprint(want) })
	}
	c.Frame(0, c.Message(2, "\x09SUBSCRIBEb"))
	topics("a", "b")
	c.Frame(4, c.Message(0, "\x00a")) // RFC 26 has MESSAGE as a command; libzmq does not send it as one
	topics("b")
	c.Frame(0, c.Message(2, "\x06CANCELb"))
	topics()
	c.Frame(0, c.Message(2, "\x04PING\x00\x0acontext"))
	if flags, body, err := c.Recv(); flags != 2 || string(body) != "\x04PONGcontext" || err != nil {
		t.Errorf("got %d %q, %v; want PONG", flags, body, err)
	}
}

// A peer that does not prove that it has a key of a channel, and the server's, is refused for the right reason.
func TestCurveRefusals(t *testing.T) {
	client, stranger := zeromqtest.NewKeys(), zeromqtest.NewKeys()
	for _, test := range []struct {
		name   string
		reason Reason
		peer   func(c *zeromqtest.Sub)
		says   string
	}{
		{"another server key", ReasonServerKey, func(c *zeromqtest.Sub) { c.Server = stranger.Public }, "ledge curve"},
		{"another client key", ReasonClientKey, func(c *zeromqtest.Sub) { c.Client, c.Vouch = stranger, stranger }, "add it to clientKeys"},
		{"the public key of another", ReasonHandshake, func(c *zeromqtest.Sub) { c.Vouch = stranger }, "vouch"},
		{"a vouch for another short-term key", ReasonHandshake, func(c *zeromqtest.Sub) {
			c.Alter = func(command string, body []byte) []byte {
				if command == "HELLO" { // the vouch is made after this
					c.Short.Public = stranger.Public
				}
				return body
			}
		}, "vouch"},
		{"HELLO too short", ReasonHandshake, alter("HELLO", func(b []byte) []byte { return b[:199] }), "malformed HELLO"},
		{"HELLO too long", ReasonHandshake, alter("HELLO", func(b []byte) []byte { return append(b, 0) }), "malformed HELLO"},
		{"HELLO of version 2", ReasonHandshake, alter("HELLO", flip(6)), "malformed HELLO"},
		{"padding that is not zero", ReasonHandshake, alter("HELLO", flip(79)), "malformed HELLO"},
		{"another nonce in HELLO", ReasonServerKey, alter("HELLO", flip(119)), "another server key"},
		{"another box in HELLO", ReasonServerKey, alter("HELLO", flip(199)), "another server key"},
		{"another command", ReasonHandshake, alter("HELLO", func([]byte) []byte { return []byte("\x05READY") }), "came before HELLO"},
		{"another cookie", ReasonHandshake, alter("INITIATE", flip(9)), "malformed INITIATE"},
		{"INITIATE too short", ReasonHandshake, alter("INITIATE", func(b []byte) []byte { return b[:256] }), "malformed INITIATE"},
		{"another nonce in INITIATE", ReasonHandshake, alter("INITIATE", flip(112)), "cannot be decrypted"},
		{"another box in INITIATE", ReasonHandshake, alter("INITIATE", flip(280)), "cannot be decrypted"},
		{"a nonce again", ReasonHandshake, func(c *zeromqtest.Sub) {
			c.Alter = func(_ string, body []byte) []byte { c.Nonce = 0; return body }
		}, "nonce of INITIATE"},
		{"a PUB socket", ReasonHandshake, func(c *zeromqtest.Sub) { c.Meta = strings.ReplaceAll(c.Meta, "SUB", "PUB") }, "cannot subscribe"},
		{"no metadata", ReasonHandshake, func(c *zeromqtest.Sub) { c.Meta = "" }, "without Socket-Type"},
		{"broken metadata", ReasonHandshake, func(c *zeromqtest.Sub) { c.Meta = "\xffx" }, "malformed metadata"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log logBuffer
			s, server := mustServer(t, Options{Logger: log.logger()})
			p := mustHold(t, s, keyed(porttest.Hold(t), client))
			c := mustConnect(t, p, server, client)
			test.peer(c.Sub)
			err := c.Shake()
			if err == nil {
				t.Fatal("the handshake was completed")
			}
			if denied := strings.Contains(err.Error(), `\x05ERROR\x03400`); denied != (test.reason == ReasonClientKey) {
				t.Errorf("the peer got %v", err)
			}
			c.wantRefused()
			eventually(t, "counted", func() bool { return s.Refusals()[string(test.reason)] == 1 })
			eventually(t, test.says, func() bool { return strings.Contains(log.String(), test.says) })
			if p.Subscribers() != 0 {
				t.Error("it is a subscriber")
			}
		})
	}
}

func alter(command string, how func([]byte) []byte) func(*zeromqtest.Sub) {
	return func(c *zeromqtest.Sub) {
		c.Alter = func(name string, body []byte) []byte {
			if name == command {
				return how(bytes.Clone(body))
			}
			return body
		}
	}
}

// flip changes the lowest bit of a byte.
func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 1; return b }
}

// After the handshake, what is not encrypted, was altered or was seen before ends the connection.
func TestCurveTraffic(t *testing.T) {
	client := zeromqtest.NewKeys()
	for name, send := range map[string]func(c curvePeer){
		"in clear text":       func(c curvePeer) { c.Frame(0, []byte("\x01t")) },
		"a command":           func(c curvePeer) { c.Frame(4, []byte("\x09SUBSCRIBEt")) },
		"altered":             func(c curvePeer) { c.Frame(0, flip(34)(c.Message(0, "\x01t"))) },
		"another nonce":       func(c curvePeer) { c.Frame(0, flip(15)(c.Message(0, "\x01t"))) },
		"cut":                 func(c curvePeer) { c.Frame(0, c.Message(0, "")[:32]) },
		"without flags":       func(c curvePeer) { c.Frame(0, c.Message(0, "")[:30]) },
		"unknown flags":       func(c curvePeer) { c.Frame(0, c.Message(4, "\x01t")) },
		"an encrypted claim":  func(c curvePeer) { c.Conn.Write([]byte(claim2to60)) },
		"INITIATE once more":  func(c curvePeer) { c.Initiate() },
		"a malformed command": func(c curvePeer) { c.Frame(0, c.Message(2, "\x09S")) },
		"replayed": func(c curvePeer) {
			m := c.Message(0, "\x01u")
			c.Frame(0, m)
			c.Frame(0, m)
		},
		"with a lower nonce": func(c curvePeer) {
			m := c.Message(0, "\x01t")
			c.Frame(0, c.Message(0, "\x01u"))
			c.Frame(0, m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := mustServer(t, Options{})
			p := mustHold(t, s, keyed(porttest.Hold(t), client))
			good := mustJoinCurve(t, p, server, client, "t")
			bad := mustJoinCurve(t, p, server, client, "bad")
			send(bad)
			bad.wantRefused()
			mustReach(t, s, keyed(p.Port(), client), "t", "still here", 1)
			good.want("t", "still here")
		})
	}
}

// Mechanisms are those of the channels. Where both are, each peer gets what its channel admits.
func TestMechanisms(t *testing.T) {
	one, two := zeromqtest.NewKeys(), zeromqtest.NewKeys()
	s, server := mustServer(t, Options{})
	port := porttest.Hold(t)
	open, first, both := at("127.0.0.1", port), keyed(port, one), keyed(port, one, two)
	p := mustHold(t, s, first)
	plain := dialPeer(t, p)
	plain.send(rawGreeting(3, "NULL"))
	plain.wantEnd()
	mustConnect(t, p, server, two).wantDenied()
	c1 := mustJoinCurve(t, p, server, one, "t")
	mustHold(t, s, both)
	c2 := mustJoinCurve(t, p, server, two, "t")
	mustHold(t, s, open)
	plain = MustJoin(t, p, "t")
	mustReach(t, s, first, "t", "first", 1)
	mustReach(t, s, both, "t", "both", 2)
	mustReach(t, s, open, "t", "all", 3)
	for _, body := range []string{"first", "both", "all"} {
		c1.want("t", body)
	}
	c2.want("t", "both")
	c2.want("t", "all")
	plain.want("t", "all")

	s.Release(both) // a channel for everybody does not keep a peer whose key is taken away
	c2.wantRefused()
	mustConnect(t, p, server, two).wantDenied()
	s.Release(first)
	c1.wantRefused()
	c := mustConnect(t, p, server, one)
	if err := c.Greet(); err == nil || !strings.Contains(err.Error(), "NULL") {
		t.Errorf("a CURVE peer at a socket without CURVE: %v", err)
	}
	c.wantRefused()
	eventually(t, "counted", func() bool {
		got := s.Refusals()
		return got["mechanism"] == 2 && got["client_key"] == 2 && got["revoked"] == 2
	})
	mustReach(t, s, open, "t", "still here", 1)
	plain.want("t", "still here")
}

func (c curvePeer) wantDenied() {
	c.Helper()
	if err := c.Shake(); err == nil || !strings.Contains(err.Error(), "ERROR") {
		c.Errorf("got %v, want ERROR", err)
	}
	c.wantRefused()
}

// A key counts only from the networks of its channel.
func TestCurveAndNetworks(t *testing.T) {
	near, far := zeromqtest.NewKeys(), zeromqtest.NewKeys()
	s, server := mustServer(t, Options{})
	port := porttest.Hold(t)
	here, there := keyed(port, near), keyed(port, far)
	here.Allow, there.Allow = []string{"127.0.0.1"}, []string{"192.0.2.0/24"}
	p := mustHold(t, s, here)
	mustHold(t, s, there)
	mustConnect(t, p, server, far).wantDenied()
	c := mustJoinCurve(t, p, server, near, "t")
	mustReach(t, s, here, "t", "here", 1)
	mustReach(t, s, there, "t", "there", 0)
	c.want("t", "here")
}

func TestBadClientKeys(t *testing.T) {
	s, _ := mustServer(t, Options{})
	for key, says := range map[string]string{
		"":                           "is not a public key",
		"short":                      "is not a public key",
		strings.Repeat("0", 45):      "is not a public key",
		strings.Repeat("#", 40):      "is not a public key",
		strings.Repeat("0", 40):      "protects nothing",
		z85.Encode([]byte{1, 31: 0}): "protects nothing",
	} {
		err := s.Acquire(Channel{"127.0.0.1", porttest.Hold(t), Access{ClientKeys: []string{key}}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", key, err, says)
		}
	}
	if err := MustSockets(t).Acquire(keyed(porttest.Hold(t), zeromqtest.NewKeys())); err == nil || !strings.Contains(err.Error(), "no key for CURVE") {
		t.Errorf("without a server key: %v", err)
	}
}

// A subscriber with CURVE that reads nothing loses messages alone, and is disconnected when it stalls.
func TestCurveStalled(t *testing.T) {
	client := zeromqtest.NewKeys()
	s, server := mustServer(t, Options{QueueMessages: 10, StallTimeout: 300 * time.Millisecond})
	ch := keyed(porttest.Hold(t), client)
	p := mustHold(t, s, ch)
	stalled, good := mustJoinCurve(t, p, server, client, "t"), mustJoinCurve(t, p, server, client, "t")
	body := strings.Repeat("b", 1<<20)
	for p.Drops() == 0 {
		mustReach(t, s, ch, "t", body, 2)
		good.want("t", body)
	}
	eventually(t, "evicted", func() bool { return p.Subscribers() == 1 })
	stalled.wantRefused()
	mustReach(t, s, ch, "t", "still here", 1)
	good.want("t", "still here")
	eventually(t, "the memory is free", func() bool { return use(p).QueuedBytes == 0 })
}

// A long frame counts twice while it comes: it is decrypted into another buffer.
func TestCurveLongFramesCount(t *testing.T) {
	client := zeromqtest.NewKeys()
	s, server := mustServer(t, Options{})
	p := mustHold(t, s, keyed(porttest.Hold(t), client))
	c := mustConnect(t, p, server, client)
	if err := c.Shake(); err != nil {
		t.Fatal(err)
	}
	c.Conn.Write([]byte(rawFrame(0, strings.Repeat("m", 60<<10))[:1000]))
	counts(t, p, "120 KiB", func(u Use) bool { return u.TopicBytes == 120<<10 })
}

// Close sends what is queued.
func TestCurveLinger(t *testing.T) {
	client := zeromqtest.NewKeys()
	s, server := mustServer(t, Options{})
	ch := keyed(porttest.Hold(t), client)
	c := mustJoinCurve(t, mustHold(t, s, ch), server, client, "")
	const n = 5000
	for i := range n {
		mustReach(t, s, ch, fmt.Sprint(i), "body", 1)
	}
	done := make(chan error)
	go func() { done <- s.Close(hang) }()
	for i := range n {
		c.want(fmt.Sprint(i), "body")
	}
	c.Conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A long message that finds no room for its encrypted form is lost for this subscriber alone, and the next one is not.
func TestSealedNeedsRoom(t *testing.T) {
	client := zeromqtest.NewKeys()
	s, server := mustServer(t, Options{})
	ch := keyed(porttest.Hold(t), client)
	p := mustHold(t, s, ch)
	mustHold(t, s, at(ch.Host, ch.Port))
	c, plain := mustJoinCurve(t, p, server, client, "t"), MustJoin(t, p, "t")
	body, r := strings.Repeat("b", 100_000), p.limits.room
	taken := int(r.most/2) - 3*len(body)/2
	if !r.take(taken, 0) {
		t.Fatal("no room")
	}
	mustReach(t, s, at(ch.Host, ch.Port), "t", body, 2)
	plain.want("t", body)
	eventually(t, "it is lost", func() bool { return p.Drops() == 1 })
	r.give(taken)
	mustReach(t, s, ch, "t", body+"next", 1)
	c.want("t", body+"next")
	eventually(t, "the memory is free", func() bool { return use(p).QueuedBytes == 0 })
}

func TestComputingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, running, end := newTurns(), atomic.Int64{}, make(chan struct{})
		for range 10 + cap(turns) {
			go turns.do(func() { running.Add(1); <-end })
		}
		if synctest.Wait(); running.Load() != int64(cap(turns)) {
			t.Errorf("%d compute at once, want %d", running.Load(), cap(turns))
		}
		close(end)
		if synctest.Wait(); running.Load() != int64(10+cap(turns)) {
			t.Errorf("%d have computed, want all", running.Load())
		}
	})
}

// Long messages wait for room while others are sent; who finds none for too long loses one, and only that.
func TestRoomIsAwaited(t *testing.T) {
	r := newRoom(200, 5, func() {}) // 100 for all, 20 for each
	stop := make(chan struct{})
	q := newQueue(Options{}.WithDefaults(), r)
	if !q.claim(80) {
		t.Fatal("no room")
	}
	if q.await(50, time.Millisecond, stop) || q.held != 80 {
		t.Error("room where there is none")
	}
	got := make(chan bool)
	go func() { got <- q.await(50, hang, stop) }()
	eventually(t, "it waits", func() bool { return r.waiting.Load() == 1 })
	q.unclaim(40)
	if !<-got || r.used.Load() != 90 || q.held != 90 {
		t.Errorf("it got no room; %d are used", r.used.Load())
	}
	go func() { got <- q.await(50, hang, stop) }()
	close(stop)
	if <-got {
		t.Error("it got room")
	}
}

// fuzzHandshake is a handshake on a socket with both mechanisms, of a peer that sends data.
func fuzzHandshake(f testing.TB, data []byte) (h *handshake, out *bytes.Buffer) {
	as := newAudiences()
	for _, a := range []Access{{}, {ClientKeys: []string{zeromqtest.NewKeys().Text()}}} {
		if err := as.hold(a); err != nil {
			f.Fatal(err)
		}
	}
	keys := zeromqtest.NewKeys()
	return &handshake{
		r: bufio.NewReader(bytes.NewReader(data)), audiences: as, server: pairOf(keys.Private), computing: newTurns(),
	}, new(bytes.Buffer)
}

// FuzzHandshake lets arbitrary bytes follow a greeting that is right.
func FuzzHandshake(f *testing.F) {
	for _, s := range []string{rawReady(subMeta), rawReady("\xffx"), rawReady("\x01x\xff\xff\xff\xff"), "\x04\x00", claim2to60} {
		f.Add(false, []byte(s))
	}
	hello := rawFrame(4, "\x05HELLO\x01\x00"+strings.Repeat("\x00", 192))
	for _, s := range []string{hello, hello + rawFrame(4, "\x08INITIATE"+strings.Repeat("i", 300)), rawFrame(4, "\x05HELLO"), claim2to60} {
		f.Add(true, []byte(s))
	}
	f.Fuzz(func(t *testing.T, curve bool, data []byte) {
		mechanism := "NULL"
		if curve {
			mechanism = "CURVE"
		}
		h, out := fuzzHandshake(t, append([]byte(rawGreeting(3, mechanism)), data...))
		if err := h.shake(out); err == nil && (curve || h.who.curve) {
			t.Fatal("somebody without a key is in")
		}
	})
}

// FuzzCurve alters what a client sends that knows all keys: no panic, and nobody is in who did not prove it.
func FuzzCurve(f *testing.F) {
	f.Add([]byte("hello"), []byte("initiate"), []byte("message"))
	client := zeromqtest.NewKeys()
	f.Fuzz(func(t *testing.T, hello, initiate, message []byte) {
		h := curveHandshake{server: pairOf(client.Private)}
		if _, err := h.welcome(hello); err == nil {
			t.Fatal("HELLO was opened")
		}
		h.client, h.short = client.Public, *pairOf(client.Private)
		if _, _, _, err := h.initiated(append(h.cookie[:], initiate...)); err == nil {
			t.Fatal("INITIATE was opened")
		}
		s := &session{shared: client.Private}
		if _, err := s.open(frame{body: append([]byte(messageCommand), message...)}); err == nil {
			t.Fatal("MESSAGE was opened")
		}
		_ = h.vouched(append(initiate, make([]byte, vouchBytes)...)[:vouchBytes], &client.Public)
	})
}
