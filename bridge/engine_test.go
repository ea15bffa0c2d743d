package bridge_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/bridge"
	"ledge/domain"
)

func TestEveryChangeRaisesOneNotification(t *testing.T) {
	n := mustNode(t)
	n.subscribeElsewhere()
	n.startEngine()
	locked := domain.StateLocked
	name := "cam-1"
	n.do(domain.AddUser{User: domain.User{Name: name, Role: domain.Viewer, Credential: "c"}}, domain.AddToken{Token: domain.Token{Name: name, Role: domain.Poster, Credential: "c-2"}})
	added := n.do(domain.AddDevice{Device: device(name)})
	n.do(domain.ChangeUser{Name: name, Role: domain.Poster}, domain.SetPassword{Name: name, Credential: "c-3"})
	updated := n.do(domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", name, "adminState", locked)})
	n.do(domain.RemoveUser{Name: name}, domain.RemoveToken{Name: name})
	removed := n.do(domain.RemoveDevice{Name: name})
	list := n.processed(3)
	for i, want := range []struct {
		cause  uint64
		action string
		state  string
	}{{added, "Device creation", "UNLOCKED"}, {updated, "Device update", "LOCKED"}, {removed, "Device removal", "LOCKED"}} {
		got := list[i]
		content := fmt.Sprintf(`{"deviceName":"cam-1","deviceServiceName":"svc","actionType":%q,"operatingState":"UP","adminState":%q}`, want.action, want.state)
		if got.Cause != want.cause || got.Content != content || got.Category != domain.DeviceChanged || got.Matched != nil {
			t.Errorf("notification %d = %+v, want cause %d and %s", i, got, want.cause, content)
		}
	}
}

// While there is no subscription, changes raise nothing; how far they are followed is recorded now and then. Those after the first subscription raise theirs.
func TestNothingIsRaisedWithoutSubscriptions(t *testing.T) {
	n := mustNode(t)
	n.startEngine()
	cursor := func() (at uint64) {
		state, done := n.notes.State()
		defer done()
		at, _ = state.Cursors.Get(domain.CursorDeviceChanges)
		return at
	}
	n.do(domain.AddDevice{Device: device("cam-0")})
	states := []string{domain.StateLocked, domain.StateUnlocked}
	for i := 0; i < bridge.RecordEvery; {
		var reqs []domain.Request
		for ; len(reqs) < 500; i++ {
			reqs = append(reqs, domain.Request{
				Stamp:   domain.Stamp{EventID: uuid.NewString(), At: time.Now().UTC(), Actor: "test"},
				Command: domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", "cam-0", "adminState", states[i%2])},
			})
		}
		if _, err := n.events.Submit(t.Context(), reqs...); err != nil {
			t.Fatal(err)
		}
	}
	n.until("the cursor", func(domain.State, domain.Lists) bool { return cursor() >= bridge.RecordEvery })
	if got := n.processed(0); len(got) != 0 {
		t.Errorf("%d notifications without a subscription, want none", len(got))
	}
	if at, _ := n.notes.Checkpoint(); at != 1 {
		t.Errorf("%d events of notifications, want the one that moves the cursor", at)
	}
	n.do(domain.AddSubscription{Subscription: subscription("gate", channel(t))})
	n.stopEngine()
	n.do(domain.AddDevice{Device: device("cam-1")}, domain.RemoveSubscription{Name: "gate"}, domain.AddDevice{Device: device("cam-2")})
	n.startEngine()
	if list := n.processed(1); len(list) != 1 || !reflect.DeepEqual(list[0].Matched, []string{"gate"}) {
		t.Errorf("raised %+v, want the notification of the change that met the subscription", list)
	}
	n.stopEngine()
	n.startEngine()
	if err := n.engine.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := n.processed(1); len(list) != 1 {
		t.Errorf("%d notifications after a restart, want 1", len(list))
	}
}

func TestRestartRaisesNothingTwice(t *testing.T) {
	n := mustNode(t)
	n.subscribeElsewhere()
	for range 3 {
		n.startEngine()
		n.do(domain.AddDevice{Device: device(fmt.Sprint("cam-", len(n.transmissions())))})
		n.processed(1)
		n.stopEngine()
		n.do(domain.RemoveDevice{Name: "cam-0"})
	}
	n.startEngine()
	if got := n.processed(6); len(got) != 6 {
		t.Errorf("%d notifications, want one for each of 6 changes", len(got))
	}
}

// A change that was recorded while the bridge did not run meets the subscriptions of its own time.
func TestMatchedAsOfTheChange(t *testing.T) {
	n := mustNode(t)
	n.do(domain.AddSubscription{Subscription: subscription("gone", channel(t))},
		domain.AddSubscription{Subscription: subscription("changed", channel(t))},
		domain.AddDevice{Device: device("first")},
		domain.RemoveSubscription{Name: "gone"},
		domain.UpdateSubscription{Patch: domain.PatchOf[domain.Subscription]("name", "changed", "categories", []string{"other"})},
		domain.AddSubscription{Subscription: subscription("late", channel(t))},
		domain.AddDevice{Device: device("second")})
	n.startEngine()
	list := n.processed(2)
	for i, want := range [][]string{{"changed", "gone"}, {"late"}} {
		if !reflect.DeepEqual(list[i].Matched, want) {
			t.Errorf("change %d matched %v, want %v", i, list[i].Matched, want)
		}
	}
}

// The times that a device service reports raise nothing by themselves, also where the engine starts between them.
func TestReportedTimesRaiseNothing(t *testing.T) {
	n := mustNode(t)
	reports := []domain.Command{
		patch("cam-1", "lastConnected", time.Now().UnixNano()),
		patch("cam-1", "lastReported", time.Now().UnixNano()),
		patch("cam-1", "lastConnected", int64(1), "lastReported", int64(1)),
	}
	n.do(domain.AddSubscription{Subscription: subscription("s", channel(t))}, domain.AddDevice{Device: device("cam-1")})
	n.do(reports...)
	n.startEngine()
	n.do(reports...)
	n.do(patch("cam-1", "lastConnected", int64(2), "operatingState", domain.StateDown),
		domain.RemoveDevice{Name: "cam-1"})
	var actions []string
	for _, raised := range n.processed(3) {
		var content struct{ ActionType string }
		if err := json.Unmarshal([]byte(raised.Content), &content); err != nil {
			t.Fatal(err)
		}
		actions = append(actions, content.ActionType)
	}
	if want := []string{"Device creation", "Device update", "Device removal"}; !slices.Equal(actions, want) {
		t.Errorf("got %q, want %q", actions, want)
	}
}

func TestLockedSubscriptionGetsNothing(t *testing.T) {
	n := mustNode(t)
	s := subscription("s", channel(t))
	s.AdminState = domain.StateLocked
	n.do(domain.AddSubscription{Subscription: s})
	n.startEngine()
	n.do(domain.AddDevice{Device: device("cam-1")})
	if got := n.processed(1)[0].Matched; got != nil {
		t.Errorf("matched %v, want nobody", got)
	}
}

// What a crash left between its record and its delivery is delivered at the next start, once for each channel.
func TestPendingIsDeliveredAtStart(t *testing.T) {
	n := mustNode(t)
	n.do(domain.AddSubscription{Subscription: subscription("s", channel(t), channel(t))})
	for i := range 5 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		n.submit(n.notifications, domain.AddNotification{Notification: domain.Notification{
			ID: id, Category: domain.DeviceChanged, Content: "{}", Sender: "x", Severity: domain.SeverityNormal, Status: domain.StatusNew,
		}})
	}
	n.startEngine()
	n.processed(5)
	if got := n.transmissions(); len(got) != 10 {
		t.Errorf("%d transmissions, want one for each of 5 notifications and 2 channels", len(got))
	}
}

// A log that refuses one of several records for a moment loses none of them: the order of the causes holds them back.
func TestRefusedForNow(t *testing.T) {
	n := mustNode(t)
	n.do(domain.AddSubscription{Subscription: subscription("s", channel(t))})
	for i := range 3 {
		n.do(domain.AddDevice{Device: device(fmt.Sprint("cam-", i))})
	}
	n.refuse = func(call, i int) bool { return call == 1 && i == 0 }
	n.startEngine()
	list := n.processed(3)
	if got := n.transmissions(); len(list) != 3 || len(got) != 3 {
		t.Errorf("%d notifications and %d transmissions, want 3 of each", len(list), len(got))
	}
}

// A record under way holds up no delivery.
func TestDeliveredWhileRecording(t *testing.T) {
	n := mustNode(t)
	c := channel(t)
	n.do(domain.AddSubscription{Subscription: subscription("s", c)})
	recording, recorded := make(chan struct{}), make(chan struct{})
	n.refuse = func(call, _ int) bool {
		if call == 1 {
			close(recording)
			<-recorded
		}
		return false
	}
	release := sync.OnceFunc(func() { close(recorded) })
	t.Cleanup(release)
	n.startEngine()
	bodies := listen(t, c)
	if _, err := n.sockets.AwaitSubscriber(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	n.do(domain.AddDevice{Device: device("cam-1")})
	<-recording
	n.do(domain.AddDevice{Device: device("cam-2")})
	took := take(t, bodies, 2)
	release()
	if list := n.processed(2); len(list) != 2 || list[1].Content != took[1] {
		t.Errorf("received %v and recorded %+v", took, list)
	}
}

// One notification that the log refuses for good does not take those that wait with it.
func TestRefusedForGood(t *testing.T) {
	n := mustNode(t)
	n.subscribeElsewhere()
	for i := range 5 {
		n.do(domain.AddDevice{Device: device(fmt.Sprint("cam-", i))})
	}
	end, _ := n.state.Checkpoint()
	var taken uint64
	for r, err := range n.store.Events().Read(t.Context(), end-2, end-2) {
		raised, ok := bridge.Raise(r)
		if err != nil || !ok {
			t.Fatalf("event %d raises %v, %v", r.Seq, raised, err)
		}
		raised.Cause, raised.Status, taken = 0, domain.StatusProcessed, r.Seq
		n.submit(n.notifications, domain.AddNotification{Notification: raised})
	}
	n.startEngine()
	n.do(domain.AddDevice{Device: device("last")})
	var causes []uint64
	for _, p := range n.processed(6)[1:] {
		causes = append(causes, p.Cause)
	}
	if want := []uint64{taken - 2, taken - 1, taken + 1, taken + 2, taken + 3}; !reflect.DeepEqual(causes, want) {
		t.Errorf("notifications of events %v, want %v", causes, want)
	}
}

// A subscription that was answered before a notification was posted gets it.
func TestPostedAfterSubscribed(t *testing.T) {
	n := mustNode(t)
	n.startEngine()
	for i := range 50 {
		n.do(domain.AddSubscription{Subscription: subscription(fmt.Sprint("s-", i), channel(t))})
		n.submit(n.notifications, domain.AddNotification{Notification: domain.Notification{
			ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i), Category: domain.DeviceChanged, Content: "{}", Sender: "x",
			Severity: domain.SeverityNormal, Status: domain.StatusNew,
		}})
		if got := len(n.processed(i + 1)[i].Matched); got == 0 {
			t.Fatalf("notification %d matched nobody", i)
		}
	}
	if got := len(n.transmissions()); got < 1000 {
		t.Errorf("%d transmissions", got)
	}
}

// What a clean stop finds unfinished is recorded then, or done again, never twice on record.
func TestStopLosesNoOutcome(t *testing.T) {
	n := mustNode(t)
	n.do(domain.AddSubscription{Subscription: subscription("s", channel(t))})
	for i := range 20 {
		n.startEngine()
		n.do(domain.AddDevice{Device: device(fmt.Sprint("cam-", i))})
		n.stopEngine()
		if list, err := n.pending(); err != nil || len(list) > 0 {
			t.Fatalf("round %d: %d notifications without an outcome after a clean stop, %v", i, len(list), err)
		}
	}
	n.startEngine()
	if got := len(n.processed(20)); got != 20 {
		t.Errorf("%d notifications", got)
	}
}
