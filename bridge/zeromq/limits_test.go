package zeromq

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledge/bridge/porttest"
)

func (u Use) bare() Use { u.Drops, u.Evicted, u.Refused, u.QueuedBytes = 0, 0, 0, 0; return u }

// use is what all sockets that share p's limits take.
func use(p *Publisher) (u Use) {
	p.limits.addTo(&u)
	return u
}

// dialFrom connects a peer from 127.0.0.client.
func dialFrom(t *testing.T, p *Publisher, client byte) *peer {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, client)}}
	c, err := dialer.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.Port()))
	if err != nil {
		t.Skip("the test needs more loopback addresses, from 127.0.0.2 on, as Linux has; on macOS run `sudo ifconfig lo0 alias 127.0.0.2` for each:", err)
	}
	t.Cleanup(func() { c.Close() })
	return newPeer(t, c)
}

// joinFrom connects a subscriber from 127.0.0.client.
func joinFrom(t *testing.T, p *Publisher, client byte, topics ...string) *peer {
	t.Helper()
	c := dialFrom(t, p, client)
	c.join(p, topics...)
	return c
}

func counts(t *testing.T, p *Publisher, what string, want func(Use) bool) {
	t.Helper()
	eventually(t, what, func() bool { return want(use(p)) })
}

// At the limit for all peers the silent ones give way, the longest silent first, whether or not they have completed a handshake.
func TestSilentPeersGiveWay(t *testing.T) {
	p := MustListen(t, Options{MaxPeers: 5})
	constant := MustJoin(t, p, "constant")
	var silent []*peer
	for i := range 4 {
		silent = append(silent, dialPeer(t, p))
		if i%2 == 0 {
			silent[i].shake()
		}
		counts(t, p, "connected", func(u Use) bool { return u.Peers == 2+i && u.Silent == 1+i })
	}
	for i := range 4 {
		newcomer := MustJoin(t, p, fmt.Sprint(i))
		silent[i].wantEnd()
		MustPublish(t, p, fmt.Sprint(i), "welcome")
		newcomer.want(fmt.Sprint(i), "welcome")
	}
	dialPeer(t, p).wantEnd() // now all have a topic
	MustPublish(t, p, "constant", "still here")
	constant.want("constant", "still here")
	if got := use(p); got.Peers != 5 || got.Silent != 0 || got.Evicted != 4 || got.Refused != 1 {
		t.Errorf("%+v", got)
	}
	constant.unsubscribe("constant")
	counts(t, p, "silent", func(u Use) bool { return u.Silent == 1 })
	MustJoin(t, p, "last")
	constant.wantEnd()
}

// The limit for one address is that of one client: others are not concerned.
func TestPeersOfOneAddress(t *testing.T) {
	p := MustListen(t, Options{MaxPeersPerAddress: 2})
	joinFrom(t, p, 2, "a")
	silent := dialFrom(t, p, 2)
	other := dialFrom(t, p, 3)
	counts(t, p, "connected", func(u Use) bool { return u.Peers == 3 })
	joinFrom(t, p, 2, "b")
	silent.wantEnd()
	dialFrom(t, p, 2).wantEnd()
	other.join(p, "c")
}

// Two sockets share the limit for all peers, and each has one of its own.
func TestPeersOfOneSocket(t *testing.T) {
	s := NewSockets(Options{Logger: quiet, MaxPeers: 3, MaxSubscribers: 2})
	t.Cleanup(func() { s.Close(0) })
	first, second := porttest.Hold(t), porttest.Hold(t)
	MustAcquire(t, s, "127.0.0.1", first)
	MustAcquire(t, s, "127.0.0.1", second)
	p, q := publisherOf(s, "127.0.0.1", first), publisherOf(s, "127.0.0.1", second)
	MustJoin(t, p, "a")
	MustJoin(t, p, "b")
	dialPeer(t, p).wantEnd() // the limit of the socket
	last := MustJoin(t, q, "c")
	dialPeer(t, q).wantEnd() // the limit of all
	if got, want := s.Use().bare(), (Use{Sockets: 2, Peers: 3, Topics: 3, TopicBytes: int64(3 * costOf("a"))}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	last.CloseWrite() // or Release lingers
	s.Release(at("127.0.0.1", second))
	eventually(t, "the peers of a released socket are gone", func() bool { return s.Use().Peers == 2 })
}

func TestSocketLimit(t *testing.T) {
	s := NewSockets(Options{Logger: quiet, MaxSockets: 2})
	t.Cleanup(func() { s.Close(0) })
	ports := []int{porttest.Hold(t), porttest.Hold(t), porttest.Hold(t)}
	MustAcquire(t, s, "127.0.0.1", ports[0])
	MustAcquire(t, s, "127.0.0.1", ports[1])
	err := s.Acquire(at("127.0.0.1", ports[2]))
	if _, ok := errors.AsType[*LimitError](err); !ok || !strings.Contains(err.Error(), "2 ZeroMQ sockets are bound") || !strings.Contains(err.Error(), "remove a subscription") {
		t.Errorf("got %v", err)
	}
	MustAcquire(t, s, "localhost", ports[0]) // no further socket
	s.Release(at("127.0.0.1", ports[1]))
	MustAcquire(t, s, "127.0.0.1", ports[2])
}

// A socket has as many names as somebody gives it, up to a limit.
func TestNamesOfSockets(t *testing.T) {
	s := NewSockets(Options{Logger: quiet, MaxSockets: 1})
	t.Cleanup(func() { s.Close(0) })
	port := porttest.Hold(t)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		err = s.Acquire(at(nameOfLoopback(n), port))
	}
	if _, ok := errors.AsType[*LimitError](err); !ok {
		t.Errorf("%d names: %v", n, err)
	}
}

// nameOfLoopback writes 127.0.0.1 in many ways.
func nameOfLoopback(n int) string {
	text := "::ffff:127.0.0.1"
	upper := []byte(text)
	for i, at := range []int{2, 3, 4, 5} {
		if n&(1<<i) != 0 {
			upper[at] -= 'a' - 'A'
		}
	}
	if n >= 16 {
		return "[" + string(upper) + "]"
	}
	return string(upper)
}

// A peer that asks for too many topics, or too long ones, is disconnected.
func TestTopicLimits(t *testing.T) {
	for name, o := range map[string]Options{"number": {MaxTopics: 100}, "bytes": {MaxTopicBytes: 100 * costOf("000")}} {
		t.Run(name, func(t *testing.T) {
			p := MustListen(t, o)
			c := MustJoin(t, p)
			for i := range 100 {
				c.subscribe(fmt.Sprintf("%03d", i))
			}
			counts(t, p, "100 topics", func(u Use) bool { return u.Topics == 100 })
			c.subscribe("000") // once more
			c.unsubscribe("099")
			counts(t, p, "99 topics", func(u Use) bool { return u.Topics == 99 })
			c.subscribe("100")
			counts(t, p, "100 topics", func(u Use) bool { return u.Topics == 100 })
			c.subscribe("101")
			c.wantEnd()
			counts(t, p, "nothing is left", func(u Use) bool { return u.bare() == Use{} })
		})
	}
}

// Where all topics together are too many, the greediest peer of the greediest address goes, not the one that asks for a topic.
func TestAllTopicsLimit(t *testing.T) {
	p := MustListen(t, Options{AllTopicBytes: 100 * costOf("000")})
	many := func(c *peer, n int) {
		var frames strings.Builder
		for i := range n {
			frames.WriteString(rawFrame(0, fmt.Sprintf("\x01%03d", i)))
		}
		c.send(frames.String()) // at once: it may be disconnected after any of them
	}
	modest, greedy, greediest := dialFrom(t, p, 2), dialFrom(t, p, 3), dialFrom(t, p, 3)
	for i, c := range []*peer{modest, greedy, greediest} {
		c.shake()
		many(c, []int{38, 30, 31}[i])
	}
	counts(t, p, "99 topics", func(u Use) bool { return u.Topics == 99 })
	newcomer := joinFrom(t, p, 4, "new")
	newcomer.subscribe("two")
	greediest.wantEnd()
	counts(t, p, "70 topics", func(u Use) bool { return u.Topics == 70 })
	many(modest, 75) // 37 more: now it has more than anybody else
	modest.wantEnd()
	counts(t, p, "32 topics", func(u Use) bool { return u.Topics == 32 && u.Peers == 2 })
	MustPublish(t, p, "two", "still here")
	newcomer.want("two", "still here")
}

// A long frame counts as topics do, from its header to its end.
func TestLongFramesCount(t *testing.T) {
	p := MustListen(t, Options{AllTopicBytes: 100 << 10})
	first, second := MustJoin(t, p), MustJoin(t, p)
	header := rawFrame(0, strings.Repeat("\x02", 60<<10))
	first.send(header[:1000])
	counts(t, p, "60 KiB", func(u Use) bool { return u.TopicBytes == 60<<10 })
	second.send(header[:1000])
	counts(t, p, "one of them", func(u Use) bool { return u.Peers == 1 && u.TopicBytes <= 60<<10 })
	third := MustJoin(t, p)
	third.send(header)
	third.subscribe("x")
	counts(t, p, "the topic alone, or with the other's frame", func(u Use) bool { return u.Topics == 1 && u.TopicBytes%(60<<10) == int64(costOf("x")) })
}

// Who takes nothing is disconnected as soon as others find no room; these others are not.
func TestStalledGiveRoom(t *testing.T) {
	p := MustListen(t, Options{QueueBytes: 1 << 20, AllQueueBytes: 4 << 20, StallTimeout: time.Hour})
	good := MustJoin(t, p, "good")
	read := make(chan string, 1)
	go func() {
		for {
			_, body, err := good.readFrame()
			if err != nil {
				return
			}
			if strings.HasPrefix(body, "last") {
				read <- body
				return
			}
		}
	}()
	var stalled []*peer
	for i := range 4 {
		stalled = append(stalled, MustJoin(t, p, fmt.Sprint(i)))
	}
	body := strings.Repeat("b", 200<<10)
	eventually(t, "the stalled are disconnected", func() bool {
		for i := range stalled {
			MustPublish(t, p, fmt.Sprint(i), body+fmt.Sprint(i))
		}
		MustPublish(t, p, "good", body)
		if used := p.limits.room.used.Load(); used > 4<<20 {
			t.Fatalf("%d bytes are queued", used)
		}
		return p.evictions.Load() > 0
	})
	MustPublish(t, p, "good", "last")
	within(t, "the good one reads on", func() { <-read })
	for _, c := range stalled {
		_, _ = io.Copy(io.Discard, io.LimitReader(c, 1)) // it was not read until now
	}
}

// Whoever reaches a socket beyond this machine may subscribe: the log says so, once for each socket.
func TestOpenSocketIsLogged(t *testing.T) {
	for host, want := range map[string]int{"*": 1, "0.0.0.0": 1, "127.0.0.1": 0, "localhost": 0} {
		var log logBuffer
		s := NewSockets(Options{Logger: log.logger()})
		port := porttest.Hold(t)
		MustAcquire(t, s, host, port)
		MustAcquire(t, s, host, port)
		if got := strings.Count(log.String(), "ZeroMQ socket is open to other machines"); got != want {
			t.Errorf("host %s: %d lines, want %d\n%s", host, got, want, &log)
		}
		s.Close(0)
	}
}

// A peer that sends too many frames is read at a lower pace, and not for ever.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(Options{MaxTopics: 10})
		takes := func(want time.Duration, frames, bytes int, end <-chan struct{}) {
			t.Helper()
			from := time.Now()
			for range frames {
				p.frame(bytes, end)
			}
			if got := time.Since(from); got != want {
				t.Errorf("%d frames of %d bytes take %v, want %v", frames, bytes, got, want)
			}
		}
		takes(0, 10+framesAtOnce, 10, nil)
		takes(pacePause, 1, 10, nil) // earns 100 frames, less this one
		takes(0, 99, 10, nil)
		takes(201*time.Millisecond, 1, 200<<10, nil)
		end := make(chan struct{})
		close(end)
		takes(0, 100, 100<<10, end)
		time.Sleep(time.Hour) // of the test's own clock
		takes(0, 10+framesAtOnce, 10, nil)
		takes(pacePause, 1, 10, nil)
	})
}
