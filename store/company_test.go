package store

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ledge/domain"
)

// A group that half of the callers wait for begins at once; another waits for them, no longer than its patience.
func TestCompany(t *testing.T) {
	for _, tt := range []struct {
		name    string
		callers int
		waiting int
		come    int // meanwhile, one after another
		stop    bool
		waited  time.Duration
	}{
		{"nothing known", 0, 1, 0, false, 0},
		{"one caller", 1, 1, 0, false, 0},
		{"two callers", 2, 1, 0, false, 0},
		{"half of them", 8, 4, 0, false, 0},
		{"half of an odd number", 7, 3, 1, false, time.Millisecond},
		{"half of them come", 8, 1, 7, false, 3 * time.Millisecond},
		{"too few come", 32, 1, 3, false, 5 * time.Millisecond},
		{"nobody comes", 3, 1, 0, false, 5 * time.Millisecond},
		{"a stop", 32, 1, 0, true, 2 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(100, 1000)
				comes := func() {
					if err := q.put(t.Context(), &submission{requests: make([]domain.Request, 1)}); err != nil {
						t.Error(err)
					}
				}
				for range tt.waiting {
					comes()
				}
				stopped, stop := context.WithCancel(t.Context())
				defer stop()
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range tt.come {
						time.Sleep(time.Millisecond)
						comes()
					}
					time.Sleep(2 * time.Millisecond)
					if tt.stop {
						stop()
					}
				}()
				began := time.Now()
				c := company{callers: tt.callers, patience: 5 * time.Millisecond}
				c.seek(q, stopped.Done())
				if got := time.Since(began); got != tt.waited {
					t.Errorf("waited %s, want %s", got, tt.waited)
				}
				if left := q.length(); len(q.take(100)) != left || left < tt.waiting {
					t.Errorf("%d submissions are left of %d", left, tt.waiting)
				}
				<-done
			})
		})
	}
}

// Callers are those of the last group and those who came meanwhile, however many requests each has.
func TestCompanyCounts(t *testing.T) {
	q := newQueue(100, 1000)
	for _, n := range []int{1, 3, 2} {
		if err := q.put(t.Context(), &submission{requests: make([]domain.Request, n)}); err != nil {
			t.Fatal(err)
		}
	}
	var c company
	c.ended(q.take(4), time.Second, q)
	if c != (company{3, mostPatience}) {
		t.Errorf("got %+v, want 3 callers", c)
	}
	c.ended(q.take(100), time.Millisecond, q)
	if c != (company{1, time.Millisecond}) {
		t.Errorf("got %+v, want 1 caller", c)
	}
}
