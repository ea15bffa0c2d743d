package zeromq

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"ledge/bridge/porttest"
)

func MustSockets(t *testing.T) *Sockets {
	t.Helper()
	s := NewSockets(Options{Logger: quiet})
	t.Cleanup(func() { s.Close(0) })
	return s
}

// at is a channel for everybody.
func at(host string, port int) Channel { return Channel{Host: host, Port: port} }

func MustAcquire(t *testing.T, s *Sockets, host string, port int) {
	t.Helper()
	if err := s.Acquire(at(host, port)); err != nil {
		t.Fatal(err)
	}
}

// publisherOf returns the publisher behind an acquired host and port.
func publisherOf(s *Sockets, host string, port int) *Publisher {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.names[endpoint{host, port}].socket.Publisher
}

// One socket serves all ways to write its address, until the last of them is released.
func TestSocketsShare(t *testing.T) {
	s := MustSockets(t)
	port := porttest.Hold(t)
	hosts := []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1", "127.0.0.1"}
	for _, host := range hosts {
		MustAcquire(t, s, host, port)
	}
	c := MustJoin(t, publisherOf(s, "localhost", port), "cam")
	for _, host := range hosts {
		if n, err := s.Publish(at(host, port), "camera", host); n != 1 || err != nil {
			t.Errorf("publish at %s: %d subscribers, %v", host, n, err)
		}
		c.want("camera", host)
	}
	if n, err := s.Publish(at("localhost", port), "dev", ""); n != 0 || err != nil {
		t.Errorf("publish without a subscriber: %d subscribers, %v", n, err)
	}
	want := SocketStats{Host: "127.0.0.1", Port: port, Subscribers: 1, Published: 5}
	if got := s.Stats(); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.CloseWrite() // or Release lingers
	for _, host := range hosts {
		s.Release(at(host, port))
		s.Release(at("127.0.0.2", port)) // never acquired
	}
	c.wantEnd()
	if _, err := s.Publish(at("localhost", port), "camera", ""); !errors.Is(err, ErrNotBound) {
		t.Errorf("got %v, want ErrNotBound", err)
	}
}

// A released port can be bound again at once, with a subscriber connected as well.
func TestReleaseFreesPort(t *testing.T) {
	s := MustSockets(t)
	port := porttest.Hold(t)
	for range 20 {
		MustAcquire(t, s, "127.0.0.1", port)
		c := MustJoin(t, publisherOf(s, "127.0.0.1", port), "topic")
		if _, err := s.Publish(at("127.0.0.1", port), "topic", "body"); err != nil {
			t.Fatal(err)
		}
		c.CloseWrite()
		s.Release(at("127.0.0.1", port))
		c.wantEnd()
		c.Close()
	}
}

func TestSocketsConflict(t *testing.T) {
	s := MustSockets(t)
	port := porttest.Hold(t)
	MustAcquire(t, s, "*", port)
	MustAcquire(t, s, "::", port)
	err := s.Acquire(at("0.0.0.0", port))
	if err == nil || !strings.Contains(err.Error(), `bound the port for host "*"`) {
		t.Errorf("got %v", err)
	}
	if err := s.Acquire(at("127.0.0.1", port+1<<16)); err == nil {
		t.Error("a port above 65535 was acquired")
	}
}

func TestSocketsClose(t *testing.T) {
	s := MustSockets(t)
	port := porttest.Hold(t)
	MustAcquire(t, s, "127.0.0.1", port)
	c := MustJoin(t, publisherOf(s, "127.0.0.1", port), "topic")
	if _, err := s.Publish(at("127.0.0.1", port), "topic", "last"); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close(hang) }()
	c.want("topic", "last")
	c.wantEnd()
	c.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	_, err := s.Publish(at("127.0.0.1", port), "topic", "")
	if !errors.Is(err, ErrClosed) || !errors.Is(s.Acquire(at("127.0.0.1", port)), ErrClosed) {
		t.Errorf("after Close: publish gave %v", err)
	}
	s.Release(at("127.0.0.1", port))
}

func TestSocketsRaces(t *testing.T) {
	s := MustSockets(t)
	port := porttest.Hold(t)
	var busy sync.WaitGroup
	for _, host := range []string{"127.0.0.1", "localhost", "127.0.0.1", "localhost"} {
		busy.Go(func() {
			for range 50 {
				if err := s.Acquire(at(host, port)); err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Publish(at(host, port), "topic", ""); err != nil {
					t.Error(err)
				}
				s.Stats()
				s.Release(at(host, port))
			}
		})
	}
	busy.Wait()
	if got := s.Stats(); len(got) != 0 {
		t.Errorf("still bound: %+v", got)
	}
}
