package bridge_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"ledge/domain"
)

// TestPast holds that every update on a log is read with the entity as it was then: where it is the last one, where others
// follow, more than are followed one by one, and where the entity was removed since or is there again.
func TestPast(t *testing.T) {
	n := mustNode(t)
	device := func(name string) domain.Command {
		return domain.AddDevice{Device: domain.Device{
			ID: uuid.NewString(), Name: name, AdminState: domain.StateUnlocked, OperatingState: domain.StateUp, ServiceName: "svc", ProfileName: "profile",
			Protocols: map[string]map[string]string{"other": {}},
		}}
	}
	n.do(device("once"), device("often"), device("removed"), device("again"))
	for i := range 100 {
		n.do(describe("often", fmt.Sprint("often ", i)))
	}
	n.do(describe("once", "once"), describe("removed", "a"), describe("removed", "b"), describe("again", "a"), describe("again", "b"))
	n.do(domain.RemoveDevice{Name: "removed"}, domain.RemoveDevice{Name: "again"}, device("again"), describe("again", "c"), describe("again", "d"))
	n.do(domain.AddSubscription{Subscription: subscription("s", channel(t))},
		domain.UpdateSubscription{Patch: domain.PatchOf[domain.Subscription]("name", "s", "categories", []string{"x"})},
		domain.UpdateSubscription{Patch: domain.PatchOf[domain.Subscription]("name", "s", "categories", []string{"y"})})
	n.do(domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", "svc", "description", "x"), At: 1},
		domain.UpdateProfileInfo{Patch: domain.PatchOf[domain.Profile]("name", "profile", "model", "x"), At: 1})

	want := []domain.Event{nil}
	state := domain.NewMapState()
	for r, err := range n.store.Events().Read(t.Context(), 1, 0) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, domain.Whole(state, r.Event))
		r.Event.Evolve(state)
	}
	updates := 0
	check := func(r domain.Recorded) error {
		switch r.Event.(type) {
		case domain.DeviceUpdated, domain.SubscriptionUpdated, domain.ProfileUpdated, domain.ServiceUpdated:
			updates++
		}
		if got := forgetTimes(r.Event); !reflect.DeepEqual(got, forgetTimes(want[r.Seq])) {
			t.Errorf("event %d:\ngot  %+v\nwant %+v", r.Seq, got, want[r.Seq])
		}
		return nil
	}
	last, _ := n.store.Events().Last()
	if err := n.entities.Read(t.Context(), 1, last, check); err != nil || updates != 111 {
		t.Errorf("got %d updates, %v", updates, err)
	}
	for seq := last; seq > 0; seq-- { // one by one, in another order
		if err := n.entities.Read(t.Context(), seq, seq, check); err != nil {
			t.Error(err)
		}
	}
}

// forgetTimes leaves out when the entity before an update was changed: nobody asks.
func forgetTimes(e domain.Event) domain.Event {
	if s, ok := e.(domain.SubscriptionUpdated); ok {
		s.Before.Modified = 0
		return s
	}
	return e
}
