package zeromq

import (
	"slices"
	"testing"

	"ledge/bridge/porttest"
)

// TestAudience holds that a socket names its subscribers and the topics that most of them asked for, and counts the others.
func TestAudience(t *testing.T) {
	s := MustSockets(t)
	port := porttest.Hold(t)
	MustAcquire(t, s, "127.0.0.1", port)
	p := publisherOf(s, "127.0.0.1", port)
	first, second := MustJoin(t, p, "cam"), MustJoin(t, p, "door")
	defer first.Close()
	defer second.Close()
	if n, err := s.Publish(Channel{Host: "127.0.0.1", Port: port}, "camera", "x"); n != 1 || err != nil {
		t.Fatalf("publish: %d, %v", n, err)
	}
	list := s.AllListeners(100)
	want := []TopicCount{{"cam", 1}, {"door", 1}}
	if len(list) != 1 || list[0].Port != port || list[0].Subscribers != 2 || !slices.Equal(list[0].Topics, want) || list[0].Published != 1 || list[0].MoreTopics != 0 {
		t.Errorf("got %+v", list)
	}
	if a, err := s.ListenersOf("127.0.0.1", port, 1); err != nil || len(a.Topics) != 1 || a.MoreTopics != 1 {
		t.Errorf("with one topic: %+v, %v", a, err)
	}
	if _, err := s.ListenersOf("127.0.0.1", 1, 1); err == nil {
		t.Error("a socket that is not bound has an audience")
	}
	if n, some := s.Connected("127.0.0.1", port, 5); n != 2 || !slices.Equal(some, []string{"cam", "door"}) {
		t.Errorf("connected: %d, %v", n, some)
	}
}
