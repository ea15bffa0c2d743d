package recorder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A record waits for company, longer where many come and nothing is urgent, and takes all that wait.
func TestCompany(t *testing.T) {
	const room = 1024
	for _, tt := range []struct {
		name   string
		burst  int // that come at once
		then   int // that come each millisecond
		urgent time.Duration
		stop   time.Duration
		waited time.Duration
	}{
		{"alone", 0, 0, time.Hour, time.Hour, Linger},
		{"few", Few - 1, 0, time.Hour, time.Hour, Linger},
		{"many", 2 * Few, 0, time.Hour, time.Hour, LongLinger},
		{"many, urgent ones among them", 2 * Few, 0, 0, time.Hour, Linger},
		{"an urgent one comes", 2 * Few, 0, 35 * time.Millisecond, time.Hour, 4 * Linger},
		{"many for the room", room / 2, 0, time.Hour, time.Hour, Linger},
		{"ever more", 0, 20, time.Hour, time.Hour, 3 * Linger},
		{"the end", 2 * Few, 0, time.Hour, 25 * time.Millisecond, 25 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), tt.stop)
				defer stop()
				began := time.Now()
				waiting := make(chan int, room)
				for n := range tt.burst {
					waiting <- 1 + n
				}
				ended := make(chan struct{})
				sent := make(chan int)
				go func() {
					n := tt.burst
					every := time.NewTicker(time.Millisecond)
					defer every.Stop()
					for {
						select {
						case <-every.C:
						case <-ended:
							sent <- n
							return
						}
						for range tt.then {
							n++
							waiting <- n
						}
					}
				}()
				all := Company(ctx, waiting, 0, NewHurry(), func() bool { return time.Since(began) >= tt.urgent })
				waited := time.Since(began)
				close(ended)
				if waited != tt.waited {
					t.Errorf("waited %s, want %s", waited, tt.waited)
				}
				if n := <-sent; len(all)+len(waiting) != 1+n {
					t.Errorf("took %d and left %d of %d", len(all), len(waiting), 1+n)
				}
				for i, n := range all {
					if i != n {
						t.Fatalf("number %d is %d", i, n)
					}
				}
			})
		})
	}
}
