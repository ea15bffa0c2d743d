package zeromq

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// 2: a subscriber that stopped reading costs the others nothing. Its own losses are whole
// messages, and counted.
func TestStalledSubscriberDelaysNobody(t *testing.T) {
	p := MustListen(t, Options{QueueMessages: 64})
	stalled := MustJoin(t, p, "")
	good := MustJoin(t, p, "")
	body := strings.Repeat("b", 64<<10)
	const n = 400
	for i := range n {
		MustPublish(t, p, fmt.Sprint(i), body)
		good.want(fmt.Sprint(i), body)
	}
	drops := int(p.Drops())
	if drops == 0 {
		t.Fatal("the stalled subscriber lost nothing: the test does not stall it")
	}
	got := drainInOrder(stalled, n-drops, len(body))
	if got+drops != n {
		t.Errorf("the stalled subscriber got %d messages and %d drops were counted, want %d together", got, drops, n)
	}
}

// drainInOrder reads count messages whose topics are increasing numbers.
func drainInOrder(c *peer, count, size int) int {
	c.tb.Helper()
	last, got := -1, 0
	for got < count {
		topic, body := c.message()
		var i int
		if fmt.Sscan(topic, &i); i <= last || len(body) != size {
			c.tb.Fatalf("got message %q of %d bytes after %d", topic, len(body), last)
		}
		last = i
		got++
	}
	return got
}

// 2: a subscriber without progress is disconnected.
func TestStalledSubscriberIsEvicted(t *testing.T) {
	p := MustListen(t, Options{StallTimeout: 200 * time.Millisecond, QueueMessages: 200})
	stalled := MustJoin(t, p, "")
	for range 400 {
		MustPublish(t, p, "topic", strings.Repeat("b", 64<<10))
	}
	eventually(t, "eviction", func() bool { return p.evictions.Load() == 1 && p.Subscribers() == 0 })
	eventually(t, "the queue's bytes are given back", func() bool { return p.limits.room.used.Load() == 0 })
	stalled.wantEnd()
	good := MustJoin(t, p, "after")
	MustPublish(t, p, "after", "body")
	good.want("after", "body")
}

// 2: the backlog in front of the subscribers' queues has a bound, and what is lost there is
// reported. Nothing releases it here, as if there were no processor time at all.
func TestBacklogIsBounded(t *testing.T) {
	b := newBacklog(2, 100)
	for i, tc := range []struct {
		bytes int
		want  bool
	}{{60, true}, {60, false}, {40, true}, {0, false}} {
		if got := b.reserve(tc.bytes, time.Millisecond, nil); got != tc.want {
			t.Errorf("reservation %d of %d bytes: got %v, want %v", i, tc.bytes, got, tc.want)
		}
	}
	within(t, "reserve does not see that there is room", func() {
		done := make(chan bool)
		go func() { done <- b.reserve(10, hang, nil) }()
		b.release(60)
		b.release(40)
		if !<-done {
			t.Error("no room was found")
		}
	})
}

// 2: at the bound Publish waits a moment, then it says what it dropped, and counts it.
func TestPublishOverloaded(t *testing.T) {
	p := MustListen(t, Options{})
	c := MustJoin(t, p, "")
	for range backlogMessages {
		p.backlog.reserve(0, 0, nil)
	}
	if err := p.Publish("topic", []byte("lost")); !errors.Is(err, ErrOverloaded) || p.Drops() != 1 {
		t.Errorf("got %v and %d drops, want ErrOverloaded and 1", err, p.Drops())
	}
	for range backlogMessages {
		p.backlog.release(0)
	}
	MustPublish(t, p, "topic", "sent")
	c.want("topic", "sent")
}

func TestPublishTooLarge(t *testing.T) {
	p := MustListen(t, Options{QueueBytes: 1000})
	c := MustJoin(t, p, "")
	if err := p.Publish("topic", make([]byte, 996)); err == nil || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("got %v", err)
	}
	MustPublish(t, p, "topic", strings.Repeat("b", 995))
	c.want("topic", strings.Repeat("b", 995))
}

func TestQueueBounds(t *testing.T) {
	o := Options{QueueMessages: 3, QueueBytes: 100}.WithDefaults()
	memory := newRoom(o.AllQueueBytes, o.MaxPeers, func() {})
	q := newQueue(o, memory)
	for i, tc := range []struct {
		bytes int
		want  bool
	}{{200, true}, {1, false}} {
		if got := q.push(make([]byte, tc.bytes), nil); got != tc.want {
			t.Errorf("push %d of %d bytes: got %v, want %v", i, tc.bytes, got, tc.want)
		}
	}
	q.done(q.take())
	for i, tc := range []struct {
		bytes int
		want  bool
	}{{50, true}, {51, false}, {20, true}, {20, true}, {1, false}} {
		if got := q.push(make([]byte, tc.bytes), nil); got != tc.want {
			t.Errorf("push %d of %d bytes: got %v, want %v", i, tc.bytes, got, tc.want)
		}
	}
	if got := q.close(); got != 3 || memory.used.Load() != 0 {
		t.Errorf("close: %d messages lost and %d bytes left, want 3 and 0", got, memory.used.Load())
	}
}

// 2: the memory of all queues is bounded: half of it goes to who comes first, and a share of the
// rest is everybody's.
func TestAllQueuesBound(t *testing.T) {
	asked := 0
	memory := newRoom(1<<20, 32, func() { asked++ })
	o := Options{QueueMessages: 1000}.WithDefaults()
	greedy, other := newQueue(o, memory), newQueue(o, memory)
	n := 0
	for greedy.push(make([]byte, 4096), nil) {
		n++
	}
	if bytes := n * 4096; bytes < 400<<10 || bytes > 512<<10 || asked == 0 {
		t.Errorf("one queue took %d bytes of 1 MiB, and asked %d times for more", bytes, asked)
	}
	n = 0
	for other.push(make([]byte, 4096), nil) {
		n++
	}
	if n != 4 {
		t.Errorf("another queue took %d times 4096 bytes, want its share of 16 KiB", n)
	}
	greedy.close()
	other.close()
	if used := memory.used.Load(); used != 0 {
		t.Errorf("%d bytes are not given back", used)
	}
}

// 2: a long message that waits for many counts once.
func TestSharedMessageCountsOnce(t *testing.T) {
	memory := newRoom(1<<20, 1000, func() {})
	o := Options{}.WithDefaults()
	body := make([]byte, 300<<10)
	var queues []*queue
	for range 100 {
		q := newQueue(o, memory)
		if !q.push(make([]byte, 20), body) {
			t.Fatalf("%d queues have it, with %d bytes", len(queues), memory.used.Load())
		}
		queues = append(queues, q)
	}
	if newQueue(o, memory).push(make([]byte, 20), make([]byte, 300<<10)) {
		t.Error("another one is taken too")
	}
	queues[0].take() // is being written
	for i, q := range queues {
		if b := q.writing; b != nil && i == 1 {
			q.done(b)
		}
		q.close()
	}
	if used := memory.used.Load(); used != 0 || len(memory.shared) != 0 {
		t.Errorf("%d bytes are not given back, and %d bodies are remembered", used, len(memory.shared))
	}
}
