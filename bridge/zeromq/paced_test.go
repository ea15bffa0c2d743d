package zeromq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
)

// mustAcquire returns sockets with one that is bound, and its publisher.
func mustAcquire(t *testing.T, o Options) (*Sockets, *Publisher, int) {
	t.Helper()
	o.Logger = quiet
	s := NewSockets(roomy(o))
	t.Cleanup(func() { s.Close(0) })
	port := porttest.Hold(t)
	if err := s.Acquire(at("127.0.0.1", port)); err != nil {
		t.Fatal(err)
	}
	sock, err := s.socket(at("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	return s, sock.Publisher, port
}

// What is paced goes as fast as a slow subscriber reads: it gets all of far more than its queue holds, in order, and a
// short and a long message look as those of Publish do.
func TestPacedWaitsForTheSlow(t *testing.T) {
	s, p, port := mustAcquire(t, Options{QueueMessages: 8, QueueBytes: 256 << 10})
	slow := MustJoin(t, p, "")
	const n = 400
	sent := make(chan error, 1)
	go func() {
		for i := range n {
			subscribers, lost, err := s.PublishPaced(t.Context(), at("127.0.0.1", port), fmt.Sprint(i), pacedBody(i), hang)
			if err != nil || subscribers != 1 || lost != 0 {
				sent <- fmt.Errorf("message %d: %d subscribers, %d lost, %w", i, subscribers, lost, err)
				return
			}
		}
		sent <- nil
	}()
	for i := range n {
		if i%50 == 0 {
			eventually(t, "the publisher waits", func() bool { return len(sent) == 1 || waits(p) })
		}
		slow.want(fmt.Sprint(i), pacedBody(i))
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if p.Drops() != 0 {
		t.Errorf("%d drops", p.Drops())
	}
}

func pacedBody(i int) string {
	if i%2 == 0 {
		return strings.Repeat("b", 100<<10)
	}
	return "short"
}

// waits reports whether somebody waits for room in the queue of the only subscriber.
func waits(p *Publisher) bool {
	room := &p.connected()[0].queue.room
	room.mu.Lock()
	defer room.mu.Unlock()
	return room.ch != nil
}

// A subscriber that reads nothing is waited for once, loses the rest, which is counted, and holds up nobody else.
func TestPacedPassesTheStalled(t *testing.T) {
	s, p, port := mustAcquire(t, Options{QueueMessages: 8, QueueBytes: 256 << 10})
	stalled := MustJoin(t, p, "").subscriber(p)
	good := MustJoin(t, p, "")
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	all := 0
	for i := range 200 {
		eventually(t, "the good subscriber has room", func() bool { return good.subscriber(p).queue.isEmpty() })
		wait := hang // too long to happen once
		if !stalled.late.Load() {
			wait = 300 * time.Millisecond
		}
		subscribers, lost, err := s.PublishPaced(ctx, at("127.0.0.1", port), "t", pacedBody(0), wait)
		if err != nil || subscribers != 2 {
			t.Fatalf("message %d: %d subscribers, %v", i, subscribers, err)
		}
		all += lost
		good.want("t", pacedBody(0))
	}
	if all == 0 || uint64(all) != p.Drops() {
		t.Errorf("%d lost, %d drops, want the same, above 0", all, p.Drops())
	}
}

// isEmpty reports whether nothing waits or is being written.
func (q *queue) isEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.messages == 0
}

// What is paced leaves half of the queue to what is live.
func TestPacedLeavesRoom(t *testing.T) {
	s, p, port := mustAcquire(t, Options{QueueMessages: 8, QueueBytes: 64 << 20})
	slow := MustJoin(t, p, "")
	for lost := 0; lost == 0; {
		var err error
		if _, lost, err = s.PublishPaced(t.Context(), at("127.0.0.1", port), "old", strings.Repeat("b", 1<<20), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	before := p.Drops()
	MustPublish(t, p, "live", "now")
	for topic := ""; topic != "live"; {
		topic, _ = slow.message()
	}
	if p.Drops() != before {
		t.Error("the live message was dropped")
	}
}

func TestPacedEnds(t *testing.T) {
	s, p, port := mustAcquire(t, Options{QueueMessages: 2, QueueBytes: 64 << 20})
	MustJoin(t, p, "")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for {
			if _, _, err := s.PublishPaced(ctx, at("127.0.0.1", port), "t", strings.Repeat("b", 1<<20), hang); err != nil {
				ended <- err
				return
			}
		}
	}()
	eventually(t, "the publisher waits", func() bool { return waits(p) })
	cancel()
	within(t, "a wait goes on after its end", func() {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	s.Release(at("127.0.0.1", port))
	if _, _, err := s.PublishPaced(t.Context(), at("127.0.0.1", port), "t", "", hang); !errors.Is(err, ErrNotBound) {
		t.Errorf("after the release: got %v", err)
	}
}

func TestAwaitSubscriber(t *testing.T) {
	s, p, port := mustAcquire(t, Options{})
	MustJoin(t, p, "other")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := s.AwaitSubscriber(ctx, at("127.0.0.1", port), "topic"); n != 0 || err != nil {
		t.Errorf("nobody: got %d, %v", n, err)
	}
	found := make(chan int, 1)
	go func() {
		n, _ := s.AwaitSubscriber(t.Context(), at("127.0.0.1", port), "topic")
		found <- n
	}()
	MustJoin(t, p, "top")
	within(t, "the subscriber is not seen", func() {
		if n := <-found; n != 1 {
			t.Errorf("got %d subscribers", n)
		}
	})
	if _, err := s.AwaitSubscriber(t.Context(), at("127.0.0.1", port+1), "topic"); !errors.Is(err, ErrNotBound) {
		t.Errorf("got %v", err)
	}
	if !slices.Contains(p.Topics(), "top") {
		t.Error("the topic is not there")
	}
}
