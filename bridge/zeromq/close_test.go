package zeromq

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"
)

// 3: Close ends during a stall, also while newcomers connect, and the port is free.
func TestCloseDuringStall(t *testing.T) {
	p := MustListen(t, Options{})
	MustJoin(t, p, "")
	for range 400 {
		MustPublish(t, p, "topic", strings.Repeat("b", 64<<10))
	}
	for range 10 {
		dialPeer(t, p).send(rawGreeting(3, "NULL"))
	}
	MustJoin(t, p, "other")
	within(t, "Close", func() {
		err := p.Close(50 * time.Millisecond)
		if err == nil || !strings.Contains(err.Error(), "messages were not sent within 50ms") {
			t.Errorf("got %v", err)
		}
	})
	if p.Drops() == 0 {
		t.Error("the messages that were not sent were not counted")
	}
	again, err := Listen("127.0.0.1", p.Port(), Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	again.Close(0)
}

// 6: cycles of open, use and close leave neither goroutines nor file descriptors.
func TestNoLeaks(t *testing.T) {
	cycle(t)
	goroutines, fds := runtime.NumGoroutine(), openFiles()
	for range 30 {
		cycle(t)
	}
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	eventually(t, "no file descriptor is left", func() bool { return openFiles() <= fds })
}

// 6: zmq4 lets go of who has left. Its lists have room for as many as it had at once, and point to some of them until
// others take that room: more than one where it was slow to let go.
func TestLeaversAreForgotten(t *testing.T) {
	p := MustListen(t, Options{})
	var left []weak.Pointer[conn]
	for range 50 {
		left = append(left, joinAndLeave(t, p))
	}
	eventually(t, "zmq4 forgets most of the connections", func() bool {
		runtime.GC()
		left = slices.DeleteFunc(left, func(c weak.Pointer[conn]) bool { return c.Value() == nil })
		return len(left) <= 25
	})
}

func joinAndLeave(t *testing.T, p *Publisher) weak.Pointer[conn] {
	t.Helper()
	c := MustJoin(t, p, "topic")
	left := weak.Make(p.connected()[0].conn)
	c.Close()
	eventually(t, "leave", func() bool { return len(p.connected()) == 0 })
	return left
}

// cycle opens a publisher with good, failed, unfinished and abandoned connections.
func cycle(t *testing.T) {
	t.Helper()
	p, err := Listen("127.0.0.1", 0, Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	good, gone := MustJoin(t, p, "topic"), MustJoin(t, p, "topic")
	bad, idle := dialPeer(t, p), dialPeer(t, p)
	bad.send("GET / HTTP/1.1\r\n\r\n")
	bad.wantEnd()
	gone.Close()
	MustPublish(t, p, "topic", "body")
	good.want("topic", "body")
	within(t, "Close", func() { p.Close(time.Millisecond) })
	for _, c := range []*peer{good, bad, idle} {
		c.wantEnd()
		c.Close()
	}
}

// openFiles returns how many file descriptors are open, or 0 where that cannot be told.
func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// 7: everything published before Close arrives.
func TestLinger(t *testing.T) {
	p := MustListen(t, Options{})
	c := MustJoin(t, p, "")
	const n = 20000
	for i := range n {
		MustPublish(t, p, fmt.Sprint(i), "body")
	}
	closed := make(chan error, 1)
	go func() { closed <- p.Close(hang) }()
	for i := range n {
		c.want(fmt.Sprint(i), "body")
	}
	c.wantEnd()
	c.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if p.Drops() != 0 {
		t.Errorf("%d drops", p.Drops())
	}
}

// 8: nothing is accepted after Close.
func TestPublishAfterClose(t *testing.T) {
	p := MustListen(t, Options{})
	MustJoin(t, p, "").Close()
	for range 2 {
		if err := p.Close(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Publish("topic", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if p.Subscribers() != 0 || len(p.Topics()) != 0 {
		t.Errorf("%d subscribers and topics %q after Close", p.Subscribers(), p.Topics())
	}
}

// 8: empty topics and bodies are messages like any other, and a body may be used again.
func TestPublishFrames(t *testing.T) {
	p := MustListen(t, Options{})
	c := MustJoin(t, p, "")
	long := strings.Repeat("l", 100_000)
	binary := "\x00\xff\x01\r\n\xed\xa0\x80"
	for _, m := range [][2]string{
		{"", ""}, {"topic", ""}, {"", "body"}, {long, long}, {binary, binary},
		{strings.Repeat("t", 255), strings.Repeat("b", 256)}, {"last", string(make([]byte, blockBytes))},
	} {
		body := []byte(m[1])
		if err := p.Publish(m[0], body); err != nil {
			t.Fatal(err)
		}
		if string(body) != m[1] {
			t.Fatal("Publish changed the body")
		}
		for i := range body {
			body[i] = '#'
		}
		c.want(m[0], m[1])
	}
}
