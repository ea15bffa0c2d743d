package quota_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"ledge/handlers/quota"
)

func TestQuota(t *testing.T) {
	q := quota.New(100)
	for i, step := range []struct {
		client string
		n      int64
		want   bool
	}{
		{"a", 75, true},
		{"a", 1, false}, // its share
		{"b", 19, true}, // three quarters of what was left
		{"b", 1, false},
		{"c", 7, false},
		{"c", 6, true}, // one that has nothing may have all that is free
		{"d", 1, false},
	} {
		if got := q.Take(step.client, step.n); got != step.want {
			t.Errorf("step %d: %s takes %d: got %t", i, step.client, step.n, got)
		}
	}
	q.Give("a", 75)
	if !q.Fits("d", 75) || q.Fits("d", 76) || !q.Take("b", 52) || q.Take("b", 1) {
		t.Error("what a gave back is not shared")
	}
}

// Clients are served in their order. One that has its share is passed by others, and not by itself.
func TestQuotaWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quota.New(100)
		q.Take("a", 75)
		served := make(chan string, 10)
		wait := func(ctx context.Context, name, client string, n int64) {
			go func() {
				if err := q.Wait(ctx, client, n); err != nil {
					name += " " + err.Error()
				}
				served <- name
			}()
			synctest.Wait()
		}
		want := func(names ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for len(served) > 0 {
				got = append(got, <-served)
			}
			slices.Sort(got)
			if !slices.Equal(got, names) {
				t.Errorf("served are %q, want %q", got, names)
			}
		}
		wait(t.Context(), "a1", "a", 10)
		wait(t.Context(), "a2", "a", 1)
		wait(t.Context(), "b1", "b", 5)
		want("b1")
		wait(t.Context(), "c1", "c", 30) // more than is free: whoever has nothing keeps its place
		gone, leave := context.WithCancel(t.Context())
		wait(gone, "d1", "d", 30)
		wait(t.Context(), "e1", "e", 1)
		want()
		leave()
		want("d1 context canceled")
		q.Give("a", 75)
		want("a1", "a2", "c1", "e1")
	})
}
