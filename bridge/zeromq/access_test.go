package zeromq

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
)

// allowing is a channel on the loopback address for some networks.
func allowing(port int, networks ...string) Channel {
	return Channel{"127.0.0.1", port, Access{Allow: networks}}
}

// acquired returns sockets with channels that share one socket, and its publisher.
func acquired(t *testing.T, channels ...Channel) (*Sockets, *Publisher) {
	t.Helper()
	s := MustSockets(t)
	for _, c := range channels {
		if err := s.Acquire(c); err != nil {
			t.Fatal(err)
		}
	}
	return s, publisherOf(s, channels[0].Host, channels[0].Port)
}

func mustReach(t *testing.T, s *Sockets, at Channel, topic, body string, want int) {
	t.Helper()
	if n, err := s.Publish(at, topic, body); n != want || err != nil {
		t.Errorf("publish %s %s to %v: %d subscribers, %v; want %d", topic, body, at.Access, n, err, want)
	}
}

// A peer whose address no channel allows is closed before the greeting, and counted.
func TestAllow(t *testing.T) {
	for _, test := range []struct {
		networks []string
		in       bool
	}{
		{nil, true},
		{[]string{"127.0.0.0/8"}, true},
		{[]string{"::ffff:127.0.0.0/104"}, true},
		{[]string{"192.0.2.0/24", "127.0.0.1"}, true},
		{[]string{"192.0.2.0/24"}, false},
		{[]string{"127.0.0.2"}, false},
		{[]string{"::1/128", "::1"}, false},
	} {
		port := porttest.Hold(t)
		s, p := acquired(t, allowing(port, test.networks...))
		c := dialPeer(t, p)
		c.SetReadDeadline(time.Now().Add(hang))
		if _, err := c.r.ReadByte(); (err == nil) != test.in {
			t.Errorf("allow %v: reading the greeting gave %v", test.networks, err)
		}
		if got := s.Refusals()["network"]; (got == 0) != test.in {
			t.Errorf("allow %v: %d refusals", test.networks, got)
		}
	}
}

func TestBadNetwork(t *testing.T) {
	s := MustSockets(t)
	for _, bad := range []string{"", "nonsense", "10.0.0.0/33", "fe80::1%eth0"} {
		err := s.Acquire(allowing(porttest.Hold(t), bad))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("allow: %q is neither a network nor an address", bad)) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
	if u := s.Use(); u.Sockets != 0 {
		t.Errorf("%d sockets are bound", u.Sockets)
	}
}

// Channels of one socket with other networks: a message goes only to those that its own channel allows, whichever way it is
// published.
func TestChannelsShareASocket(t *testing.T) {
	port := porttest.Hold(t)
	open, one, two := at("127.0.0.1", port), allowing(port, "127.0.0.1"), allowing(port, "127.0.0.2/32", "192.0.2.0/24")
	s, p := acquired(t, one, two)
	first, second := joinFrom(t, p, 1, "t"), joinFrom(t, p, 2, "t")
	dialFrom(t, p, 3).wantEnd()
	mustReach(t, s, one, "t", "for the first", 1)
	mustReach(t, s, two, "t", "for the second", 1)
	if _, err := s.Publish(open, "t", "for nobody"); !errors.Is(err, ErrNotBound) {
		t.Errorf("publish to a channel that is not acquired: %v", err)
	}
	if _, _, err := s.PublishPaced(t.Context(), open, "t", "for nobody", hang); !errors.Is(err, ErrNotBound) {
		t.Errorf("publish paced to a channel that is not acquired: %v", err)
	}
	if err := s.Acquire(open); err != nil {
		t.Fatal(err)
	}
	third := joinFrom(t, p, 3, "t")
	mustReach(t, s, open, "t", "for all", 3)
	first.want("t", "for the first")
	second.want("t", "for the second")
	for _, c := range []*peer{first, second, third} { // what is paced could overtake
		c.want("t", "for all")
	}
	if n, lost, err := s.PublishPaced(t.Context(), two, "t", "paced", hang); n != 1 || lost != 0 || err != nil {
		t.Errorf("paced: %d subscribers, %d lost, %v", n, lost, err)
	}
	mustReach(t, s, open, "t", "end", 3)
	first.want("t", "end")
	second.want("t", "paced")
	second.want("t", "end")
	third.want("t", "end")
	if n, err := s.AwaitSubscriber(t.Context(), one, "t"); n != 1 || err != nil {
		t.Errorf("await: %d, %v", n, err)
	}
}

// A release disconnects the peers that no other channel admits, and no others. Messages that were published before arrive.
func TestRelease(t *testing.T) {
	port := porttest.Hold(t)
	one, two := allowing(port, "127.0.0.1"), allowing(port, "127.0.0.2", "127.0.0.1")
	s, p := acquired(t, one, two, two)
	first, second := joinFrom(t, p, 1, "t"), joinFrom(t, p, 2, "t")
	s.Release(two)
	const n = 500
	for i := range n {
		mustReach(t, s, two, "t", fmt.Sprint(i), 2)
	}
	s.Release(two)
	second.wantEnd()
	mustReach(t, s, one, "t", "end", 1)
	for i := range n {
		first.want("t", fmt.Sprint(i))
	}
	first.want("t", "end")
	if got := s.Refusals()["revoked"]; got != 1 {
		t.Errorf("%d peers were disconnected, want 1", got)
	}
	if _, err := s.Publish(two, "t", "late"); !errors.Is(err, ErrNotBound) {
		t.Errorf("publish to a released channel: %v", err)
	}
	eventually(t, "the audience is forgotten", func() bool {
		mustReach(t, s, one, "other", "", 0)
		mustReach(t, s, one, "t", "next", 1)
		p.audiences.mu.RLock()
		defer p.audiences.mu.RUnlock()
		return len(p.audiences.byID) == 1 && len(p.audiences.byKey) == 1
	})
}
