package limiter

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// call makes a call that takes so long, unless it is cancelled, and reports when it began.
func call(t *Limiter, receiver, host string, failed bool, takes time.Duration, began chan<- string) {
	for {
		slot, ok := t.Acquire(context.Background(), receiver, host, failed)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), takes)
		slot.MayCancel(cancel)
		began <- receiver
		<-ctx.Done()
		cancel()
		cancelled := slot.Answered()
		slot.Release()
		if !cancelled {
			return
		}
	}
}

// A hundred receivers that never answer in time take no slots of fast ones, known or not; each gets its slot.
func TestSlowReceiversLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter, began := New(16), make(chan string, 10_000)
		call(limiter, "known", "h", false, time.Millisecond, began)
		<-began
		for i := range 100 {
			go call(limiter, fmt.Sprint("slow-", i), fmt.Sprint("host-", i), false, 10*time.Second, began)
		}
		synctest.Wait()
		start := time.Now()
		call(limiter, "known", "h", false, time.Millisecond, began)
		if waited := time.Since(start); waited > time.Millisecond {
			t.Errorf("a receiver that is known to be fast waited %s", waited)
		}
		call(limiter, "new", "h", false, time.Millisecond, began)
		if waited := time.Since(start); waited > 9*Slow {
			t.Errorf("a receiver that nothing was known of waited %s", waited)
		}
		time.Sleep(10 * time.Minute)
		limiter.mu.Lock()
		for i := range 100 {
			if !limiter.known[fmt.Sprint("slow-", i)] {
				t.Errorf("receiver %d is not known to be slow", i)
			}
		}
		limiter.mu.Unlock()
		limiter.idle(t)
	})
}

// idle holds that no call is under way or waits.
func (l *Limiter) idle(tb testing.TB) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used != [classes]int{} || len(l.hosts) > 0 || len(l.late) > 0 || l.cancelling != 0 {
		tb.Errorf("in use: %v, hosts %v, %d late, %d cancelled", l.used, l.hosts, len(l.late), l.cancelling)
	}
}

// Each class has its share, a host half of that of the slow and the failing ones.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		name   string
		learn  func(*Limiter, string)
		failed bool
		host   string
		want   int
	}{
		{"fast", func(t *Limiter, r string) { t.known[r] = false }, false, "one", 16},
		{"not known", func(*Limiter, string) {}, false, "one", 12},
		{"slow, one host", func(t *Limiter, r string) { t.known[r] = true }, false, "one", 4},
		{"slow", func(t *Limiter, r string) { t.known[r] = true }, false, "", 8},
		{"failing, one host", func(*Limiter, string) {}, true, "one", 4},
		{"failing", func(*Limiter, string) {}, true, "", 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter, taken := New(16), make(chan *Slot, 30)
				ctx, cancel := context.WithCancel(t.Context())
				for i := range cap(taken) {
					tt.learn(limiter, fmt.Sprint("r-", i))
				}
				for i := range cap(taken) {
					r, host := fmt.Sprint("r-", i), tt.host
					if host == "" {
						host = r
					}
					go func() {
						if slot, ok := limiter.Acquire(ctx, r, host, tt.failed); ok {
							taken <- slot
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
					slot := <-taken
					slot.Answered()
					slot.Release()
				}
				limiter.idle(t)
				if n := len(limiter.waiting[fast]) + len(limiter.waiting[fresh]) + len(limiter.waiting[slow]) + len(limiter.waiting[failing]); n > 0 {
					t.Errorf("%d wait", n)
				}
			})
		})
	}
}

// A call that cannot be made again is never cancelled.
func TestNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := New(1)
		first, _ := limiter.Acquire(t.Context(), "a", "a", false)
		time.Sleep(2 * Slow) // it moves to the share of the slow ones
		second, _ := limiter.Acquire(t.Context(), "b", "b", false)
		time.Sleep(2 * Slow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, ok := limiter.Acquire(ctx, "c", "c", false); ok {
			t.Error("a slot was granted")
		}
		for _, slot := range []*Slot{first, second} {
			if slot.Answered() {
				t.Error("it was cancelled")
			}
			slot.Release()
		}
		limiter.idle(t)
	})
}

// What is known is bounded.
func TestKnownIsBounded(t *testing.T) {
	limiter := New(4)
	for i := range mostKnown + 10 {
		slot, _ := limiter.Acquire(t.Context(), fmt.Sprint(i), "h", false)
		slot.Answered()
		slot.Release()
	}
	if n := len(limiter.known); n != mostKnown {
		t.Errorf("%d receivers are known, want %d", n, mostKnown)
	}
}
