package turns

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// call makes a call that takes so long, unless it is cut off, and reports when it began.
func call(t *Turns, receiver, host string, failed bool, takes time.Duration, began chan<- string) {
	for {
		turn, ok := t.Take(context.Background(), receiver, host, failed)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), takes)
		turn.MayCut(cancel)
		began <- receiver
		<-ctx.Done()
		cancel()
		cut := turn.Answered()
		turn.End()
		if !cut {
			return
		}
	}
}

// A hundred receivers that never answer in time take the room of none that is fast, known or not; each comes to its turn.
func TestSlowReceiversLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, began := New(16), make(chan string, 10_000)
		call(turns, "known", "h", false, time.Millisecond, began)
		<-began
		for i := range 100 {
			go call(turns, fmt.Sprint("slow-", i), fmt.Sprint("host-", i), false, 10*time.Second, began)
		}
		synctest.Wait()
		start := time.Now()
		call(turns, "known", "h", false, time.Millisecond, began)
		if waited := time.Since(start); waited > time.Millisecond {
			t.Errorf("a receiver that is known to be fast waited %s", waited)
		}
		call(turns, "new", "h", false, time.Millisecond, began)
		if waited := time.Since(start); waited > 9*Slow {
			t.Errorf("a receiver that nothing was known of waited %s", waited)
		}
		time.Sleep(10 * time.Minute)
		turns.mu.Lock()
		for i := range 100 {
			if !turns.known[fmt.Sprint("slow-", i)] {
				t.Errorf("receiver %d is not known to be slow", i)
			}
		}
		turns.mu.Unlock()
		turns.idle(t)
	})
}

// idle holds that no call is under way or waits.
func (t *Turns) idle(tb testing.TB) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used != [classes]int{} || len(t.hosts) > 0 || len(t.late) > 0 || t.cutting != 0 {
		tb.Errorf("in use: %v, hosts %v, %d late, %d cut", t.used, t.hosts, len(t.late), t.cutting)
	}
}

// Each class has its share, a host half of that of the slow and the failing ones.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		name   string
		learn  func(*Turns, string)
		failed bool
		host   string
		want   int
	}{
		{"fast", func(t *Turns, r string) { t.known[r] = false }, false, "one", 16},
		{"not known", func(*Turns, string) {}, false, "one", 12},
		{"slow, one host", func(t *Turns, r string) { t.known[r] = true }, false, "one", 4},
		{"slow", func(t *Turns, r string) { t.known[r] = true }, false, "", 8},
		{"failing, one host", func(*Turns, string) {}, true, "one", 4},
		{"failing", func(*Turns, string) {}, true, "", 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns, taken := New(16), make(chan *Turn, 30)
				ctx, cancel := context.WithCancel(t.Context())
				for i := range cap(taken) {
					tt.learn(turns, fmt.Sprint("r-", i))
				}
				for i := range cap(taken) {
					r, host := fmt.Sprint("r-", i), tt.host
					if host == "" {
						host = r
					}
					go func() {
						if turn, ok := turns.Take(ctx, r, host, tt.failed); ok {
							taken <- turn
						}
					}()
				}
				synctest.Wait()
				if len(taken) != tt.want {
					t.Errorf("%d calls are under way, want %d", len(taken), tt.want)
				}
				cancel()
				synctest.Wait()
				for range len(taken) {
					turn := <-taken
					turn.Answered()
					turn.End()
				}
				turns.idle(t)
				if n := len(turns.waiting[fast]) + len(turns.waiting[fresh]) + len(turns.waiting[slow]) + len(turns.waiting[failing]); n > 0 {
					t.Errorf("%d wait", n)
				}
			})
		})
	}
}

// A call that cannot be made again is never cut off.
func TestNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		first, _ := turns.Take(t.Context(), "a", "a", false)
		time.Sleep(2 * Slow) // it moves to the share of the slow ones
		second, _ := turns.Take(t.Context(), "b", "b", false)
		time.Sleep(2 * Slow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, ok := turns.Take(ctx, "c", "c", false); ok {
			t.Error("there was a turn")
		}
		for _, turn := range []*Turn{first, second} {
			if turn.Answered() {
				t.Error("it was cut off")
			}
			turn.End()
		}
		turns.idle(t)
	})
}

// What is known is bounded.
func TestKnownIsBounded(t *testing.T) {
	turns := New(4)
	for i := range mostKnown + 10 {
		turn, _ := turns.Take(t.Context(), fmt.Sprint(i), "h", false)
		turn.Answered()
		turn.End()
	}
	if n := len(turns.known); n != mostKnown {
		t.Errorf("%d receivers are known, want %d", n, mostKnown)
	}
}
