package bridge_test

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"ledge/domain"
)

// lines are those of a log, as they are written.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// mustTake listens where a channel wants to.
func mustTake(tb testing.TB, c domain.Channel) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

// A port that is taken at the start fails what is delivered, at once. It is bound when it is free, without a delivery, for
// all subscriptions that use it, and with one line.
func TestTakenPortIsBoundWhenFree(t *testing.T) {
	n := mustNode(t)
	n.subscribeElsewhere()
	c := channel(t)
	taken := mustTake(t, c)
	n.do(domain.AddSubscription{Subscription: subscription("a", c)}, domain.AddSubscription{Subscription: subscription("b", c)})
	said := make(lines, 1024)
	n.logger = slog.New(slog.NewTextHandler(said, nil))
	n.startEngine()
	n.do(domain.AddDevice{Device: device("one")})
	n.processed(1)
	for _, tr := range n.transmissions() {
		if response := tr.Records[0].Response; tr.Status != domain.StatusFailed || !strings.Contains(response, "address already in use") {
			t.Errorf("%s, %s: want FAILED, because the port is in use", tr.Status, response)
		}
	}
	taken.Close()
	var text strings.Builder
	for !strings.Contains(text.String(), `"channel bound"`) {
		select {
		case line := <-said:
			text.WriteString(line)
		case <-time.After(hangs):
			t.Fatalf("not bound; log:\n%s", &text)
		}
	}
	if count := strings.Count(text.String(), "channel not bound"); count != 1 {
		t.Errorf("%d lines say that it is not bound, want 1:\n%s", count, &text)
	}
	bodies := listen(t, c)
	if _, err := n.sockets.AwaitSubscriber(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	n.do(domain.RemoveSubscription{Name: "a"}, domain.AddDevice{Device: device("two")})
	take(t, bodies, 1)
	n.do(domain.RemoveSubscription{Name: "b"}, domain.AddDevice{Device: device("three")})
	n.processed(3)
	if !free(c) {
		t.Error("still bound, and no subscription uses it")
	}
}

// A subscription that is removed while its socket is tried again leaves none behind.
func TestRemovedWhileTried(t *testing.T) {
	n := mustNode(t)
	n.subscribeElsewhere()
	c := channel(t)
	taken := mustTake(t, c)
	n.do(domain.AddSubscription{Subscription: subscription("s", c)})
	tried, calls := make(chan struct{}), 0
	n.binding = func() {
		if calls++; calls == 2 {
			n.do(domain.RemoveSubscription{Name: "s"}, domain.AddDevice{Device: device("after")})
			n.processed(1)
			taken.Close()
			close(tried)
		}
	}
	n.startEngine()
	<-tried
	n.stopEngine()
	if !free(c) {
		t.Error("bound, and no subscription uses it")
	}
}

// A stop waits for no port to become free.
func TestStopWhileUnbound(t *testing.T) {
	n := mustNode(t)
	c := channel(t)
	mustTake(t, c)
	n.do(domain.AddSubscription{Subscription: subscription("s", c)})
	n.startEngine()
	n.stopEngine()
}
