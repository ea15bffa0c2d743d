package bridge

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"ledge/domain"
)

// Undoing events newest first gives the routes of each earlier moment, whatever happened in between.
func TestUndoIsTheInverseOfStep(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := newRoutes()
	var events []domain.Event
	var moments []map[string]domain.Subscription
	for i := range 300 {
		moments = append(moments, snapshot(r))
		e := anyEvent(random, r, i)
		events = append(events, e)
		r.step(e)
	}
	for i := len(events) - 1; i >= 0; i-- {
		r.undo(events[i])
		if got := snapshot(r); !reflect.DeepEqual(got, moments[i]) {
			t.Fatalf("after undoing event %d: %v, want %v", i, got, moments[i])
		}
	}
	if len(r.byTag) != 0 {
		t.Errorf("index not empty at the beginning: %v", r.byTag)
	}
}

func snapshot(r *routes) map[string]domain.Subscription {
	all := map[string]domain.Subscription{}
	for name, s := range r.byName {
		all[name] = s
	}
	return all
}

func anyEvent(random *rand.Rand, r *routes, i int) domain.Event {
	name := fmt.Sprint("s-", random.IntN(10))
	s := domain.Subscription{Name: name, Categories: []string{fmt.Sprint("c-", random.IntN(3))}, Labels: []string{fmt.Sprint("l-", i)}}
	old, there := r.byName[name]
	switch {
	case !there:
		return domain.SubscriptionAdded{Subscription: s}
	case random.IntN(2) == 0:
		return domain.SubscriptionRemoved{Subscription: old}
	default:
		return domain.SubscriptionUpdated{Subscription: s, Before: old}
	}
}

func TestMatch(t *testing.T) {
	r := newRoutes()
	for _, s := range []domain.Subscription{
		{Name: "b", Categories: []string{"x"}, AdminState: domain.StateUnlocked},
		{Name: "a", Categories: []string{"x"}, Labels: []string{"l"}, AdminState: domain.StateUnlocked},
		{Name: "locked", Categories: []string{"x"}, AdminState: domain.StateLocked},
		{Name: "label", Labels: []string{"l"}, AdminState: domain.StateUnlocked},
	} {
		r.put(s)
	}
	for _, tt := range []struct {
		n    domain.Notification
		want []string
	}{
		{domain.Notification{Category: "x"}, []string{"a", "b"}},
		{domain.Notification{Category: "x", Labels: []string{"l"}}, []string{"a"}},
		{domain.Notification{Category: "x", Labels: []string{"l"}, Cause: 1}, []string{"a", "b", "label"}},
		{domain.Notification{Labels: []string{"l", "l"}}, []string{"a", "label"}},
		{domain.Notification{Category: "x", Labels: []string{"l", "m"}}, nil},
		{domain.Notification{Labels: []string{"l", "m"}}, nil},
		{domain.Notification{Category: "y"}, nil},
		{domain.Notification{Category: "y", Labels: []string{"l"}}, nil},
	} {
		if got := r.match(tt.n); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("match(%q, %v) = %v, want %v", tt.n.Category, tt.n.Labels, got, tt.want)
		}
	}
}
