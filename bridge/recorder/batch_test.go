package recorder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A record waits the commit delay, unless somebody hurries it or the end comes, and takes all that wait.
func TestBatch(t *testing.T) {
	for _, tt := range []struct {
		name        string
		burst       int           // that come at once
		then        int           // that come each millisecond
		hurry, stop time.Duration // when
		waited      time.Duration
	}{
		{"alone", 0, 0, time.Hour, time.Hour, CommitDelay},
		{"many", 100, 0, time.Hour, time.Hour, CommitDelay},
		{"ever more", 0, 20, time.Hour, time.Hour, CommitDelay},
		{"somebody waits", 100, 0, 3 * time.Millisecond, time.Hour, 3 * time.Millisecond},
		{"the end", 100, 0, time.Hour, 4 * time.Millisecond, 4 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), tt.stop)
				defer stop()
				began, waiting, hurry := time.Now(), make(chan int, 1024), make(Hurry, 1)
				for n := range tt.burst {
					waiting <- 1 + n
				}
				hurried := time.AfterFunc(tt.hurry, hurry.Signal)
				defer hurried.Stop()
				ended, sent := make(chan struct{}), make(chan int)
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
				all := Batch(ctx, waiting, 0, hurry)
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
