package identity

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledge/domain"
)

// A thousand wrong passwords a second, from one client or from a new one each, leave two computations at once. The owner
// gets in all the while.
func TestFlood(t *testing.T) {
	for _, one := range []bool{true, false} {
		t.Run(fmt.Sprintf("one client %v", one), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { flood(t, one) })
		})
	}
}

func flood(t *testing.T, one bool) {
	w := newWorld()
	w.mustUser(t, "anna", "right", domain.Admin, "c1")
	a, _ := mustNew(t, w, nil)
	var now, most, computed atomic.Int64
	w.looked = func() { // within the turn, just before the computation
		computed.Add(1)
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(20 * time.Millisecond) // what the real parameters take; the clock is simulated
		now.Add(-1)
	}
	if _, err := a.Password(t.Context(), "anna", "right", "192.168.1.7:5"); err != nil {
		t.Fatal(err)
	}
	var tries sync.WaitGroup
	for i := range 10_000 {
		address := "10.0.0.1:5"
		if !one {
			address = fmt.Sprintf("10.1.%d.%d:5", i/256, i%256)
		}
		tries.Go(func() {
			if _, err := a.Password(t.Context(), "anna", "wrong", address); err == nil {
				t.Error("a wrong password was accepted")
			}
		})
		if i%1000 == 999 {
			begun := time.Now()
			if _, err := a.Password(t.Context(), "anna", "right", "192.168.1.7:5"); err != nil {
				t.Errorf("after %d tries: %v", i+1, err)
			}
			if one && time.Since(begun) > time.Second {
				t.Errorf("after %d tries: the owner waited %v", i+1, time.Since(begun))
			}
		}
		time.Sleep(time.Millisecond)
	}
	tries.Wait()
	if one && computed.Load() > 40 {
		t.Errorf("%d computations for one client that fails", computed.Load())
	}
	if most.Load() != testComputing && !one || most.Load() > testComputing {
		t.Errorf("%d computations at once, want %d", most.Load(), testComputing)
	}
	if a.turns.free != testComputing || a.turns.waiting != 0 || len(a.turns.clients) != 0 {
		t.Errorf("turns are lost: %d free, %d waiting", a.turns.free, a.turns.waiting)
	}
}

// Each client has one turn before any has a second one, and a client that floods is refused before others are.
func TestTurnsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		if err := turns.take(t.Context(), "first"); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var refused atomic.Int64
		wait := func(client string) {
			if err := turns.take(t.Context(), client); err != nil {
				refused.Add(1)
				wantCode(t, client, err, domain.TooMany)
				return
			}
			mu.Lock()
			order = append(order, client)
			mu.Unlock()
			turns.give()
		}
		for range mostWaitingOfOne + 5 {
			go wait("flood")
		}
		synctest.Wait()
		go wait("owner")
		synctest.Wait()
		turns.give()
		synctest.Wait()
		if len(order) != mostWaitingOfOne+1 || order[1] != "owner" || refused.Load() != 5 {
			t.Errorf("got %v, %d refused", order, refused.Load())
		}
	})
}

// Where all places are taken, a client that has none gets one of those of a client with many.
func TestTurnsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		_ = turns.take(t.Context(), "first")
		ctx, cancel := context.WithCancel(t.Context())
		for i := range mostWaiting / mostWaitingOfOne {
			for range mostWaitingOfOne {
				go func() { _ = turns.take(ctx, fmt.Sprint("client", i)) }()
			}
		}
		synctest.Wait()
		got := make(chan error, 1)
		go func() { got <- turns.take(t.Context(), "owner") }()
		synctest.Wait()
		if turns.waiting != mostWaiting || len(turns.clients["owner"]) != 1 {
			t.Errorf("%d wait, %d of the owner", turns.waiting, len(turns.clients["owner"]))
		}
		cancel()
		synctest.Wait()
		turns.give()
		if err := <-got; err != nil {
			t.Error(err)
		}
		turns.give()
		if turns.free != 1 || turns.waiting != 0 {
			t.Errorf("%d free, %d wait", turns.free, turns.waiting)
		}
	})
}
