package bridge_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"ledge/domain"
)

func free(c domain.Channel) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	if err == nil {
		l.Close()
	}
	return err == nil
}

func TestReserveBindsAllOrNothing(t *testing.T) {
	n := mustNode(t)
	n.startEngine()
	fine, taken := channel(t), channel(t)
	mustTake(t, taken)
	_, err := n.engine.Reserve([]domain.Channel{fine, taken})
	if domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), fmt.Sprint(taken.Port)) || !strings.Contains(err.Error(), "channels[1]") || strings.Count(err.Error(), "another port") != 1 {
		t.Errorf("err = %v, want one that names channels[1] and port %d, and its cure once", err, taken.Port)
	}
	if !free(fine) {
		t.Error("the channel before the failed one is still bound")
	}
}

func TestReservationEndsWithItsCommand(t *testing.T) {
	n := mustNode(t)
	n.startEngine()
	c := channel(t)
	done, err := n.engine.Reserve([]domain.Channel{c})
	if err != nil || free(c) {
		t.Fatalf("not bound: %v", err)
	}
	done(0)
	if !free(c) {
		t.Error("a command that failed left its socket bound")
	}
	if done, err = n.engine.Reserve([]domain.Channel{c}); err != nil {
		t.Fatal(err)
	}
	done(n.do(domain.AddSubscription{Subscription: subscription("s", c)}))
	if free(c) {
		t.Error("the socket of a recorded subscription is not bound")
	}
}

// A port that a removed subscription had can be taken at once, on another host too.
func TestReserveAfterRemoval(t *testing.T) {
	n := mustNode(t)
	n.startEngine()
	for i := range 20 {
		c := channel(t)
		name := fmt.Sprint("s-", i)
		done, err := n.engine.Reserve([]domain.Channel{c})
		if err != nil {
			t.Fatal(err)
		}
		done(n.do(domain.AddSubscription{Subscription: subscription(name, c)}))
		n.do(domain.RemoveSubscription{Name: name})
		c.Host = "*"
		if done, err = n.engine.Reserve([]domain.Channel{c}); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		done(0)
	}
}

// All subscriptions together have no more channels than one event can remove of a notification. What is reserved counts until it is given back.
func TestChannelsTogether(t *testing.T) {
	n := mustNode(t)
	n.startEngine()
	some := slices.Repeat([]domain.Channel{{Type: domain.ChannelEmail}}, domain.MaxChannelsTogether/4)
	var last func(uint64)
	for range 4 {
		done, err := n.engine.Reserve(some)
		if err != nil {
			t.Fatal(err)
		}
		last = done
	}
	if _, err := n.engine.Reserve(some[:1]); domain.CodeOf(err) != domain.Conflict || !strings.Contains(err.Error(), "all subscriptions have 100000 together, and may have 100000") {
		t.Errorf("one more: got %v", err)
	}
	last(0)
	n.do(domain.AddSubscription{Subscription: mailing("mail")})
	if err := n.engine.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.engine.Reserve(some); err == nil {
		t.Error("what is on record does not count")
	}
	if _, err := n.engine.Reserve(some[16:]); err != nil {
		t.Error(err)
	}
}
