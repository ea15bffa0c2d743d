package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/google/uuid"

	"ledge/bridge/replays"
	"ledge/domain"
)

var ample = replays.Limits{Most: 1000, Time: hangs, Wait: hangs, AtOnce: 4}

func (n *node) replays(l replays.Limits, change ...func(*replays.Options)) *replays.Replays {
	o := replays.Options{
		Limits: l, Bridge: n.engine, Sockets: n.sockets, Past: n.store.Notifications(), Log: n.notifications,
		Last: func() uint64 { seq, _ := n.notes.Checkpoint(); return seq }, Logger: slog.New(slog.DiscardHandler),
		Look: func() (domain.View, func()) {
			v, done := n.notes.View()
			return domain.View{State: v.State, Lists: v}, done
		},
	}
	for _, f := range change {
		f(&o)
	}
	return replays.New(o)
}

var byTest = domain.Stamp{EventID: uuid.NewString(), At: time.Now().UTC(), Actor: "test"}

// replay has what is ordered sent, and fails the test on an error.
func replay(tb testing.TB, r *replays.Replays, o domain.ReplayOrder) domain.Replay {
	tb.Helper()
	got, err := r.Replay(tb.Context(), o, byTest)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

// listen returns the bodies that a SUB socket on the channel receives. A replay waits for it.
func listen(tb testing.TB, c domain.Channel) <-chan string {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	sub := zmq4.NewSub(ctx)
	tb.Cleanup(func() { cancel(); _ = sub.Close() })
	if err := sub.Dial(fmt.Sprintf("tcp://%s:%d", c.Host, c.Port)); err != nil {
		tb.Fatal(err)
	}
	if err := sub.SetOption(zmq4.OptionSubscribe, c.Topic); err != nil {
		tb.Fatal(err)
	}
	bodies := make(chan string, 4096)
	go func() {
		for {
			m, err := sub.Recv()
			if err != nil {
				return
			}
			bodies <- string(m.Frames[1])
		}
	}()
	return bodies
}

func take(tb testing.TB, from <-chan string, n int) (got []string) {
	tb.Helper()
	for range n {
		select {
		case b := <-from:
			got = append(got, b)
		case <-time.After(hangs):
			tb.Fatalf("received %d of %d: %v", len(got), n, got)
		}
	}
	return got
}

// postNotice adds a notification as a client does; the bridge routes it.
func (n *node) postNotice(category, content string) {
	n.tb.Helper()
	n.submit(n.notifications, domain.AddNotification{Notification: domain.Notification{
		ID: uuid.Must(uuid.NewV7()).String(), Category: category, Content: content, Sender: "test", Severity: domain.SeverityNormal, Status: domain.StatusNew,
	}})
}

// Who joins late gets all that matched and nothing else, in order, also in parts; and then nothing twice.
func TestReplay(t *testing.T) {
	n := mustNode(t)
	n.subscribeElsewhere()
	c := channel(t)
	n.startEngine()
	n.do(domain.AddDevice{Device: device("before")})
	n.processed(1)
	n.do(domain.AddSubscription{Subscription: subscription("s", c)})
	var want []string
	const many = 40
	for i := range many {
		n.do(domain.AddDevice{Device: device(fmt.Sprint("cam-", i))})
		list := n.processed(2 + 3*i)
		want = append(want, list[len(list)-1].Content, fmt.Sprint("posted ", i))
		n.postNotice("FIRE", fmt.Sprint("for nobody ", i))
		n.postNotice(domain.DeviceChanged, fmt.Sprint("posted ", i))
		n.processed(4 + 3*i)
	}
	r := n.replays(ample)
	bodies := listen(t, c)
	got := replay(t, r, domain.ReplayOrder{Subscription: "s"})
	if all := take(t, bodies, len(want)); !slices.Equal(all, want) {
		t.Errorf("received %v, want %v", all, want)
	}
	if got.Count != len(want) || got.Dropped != 0 || got.More || got.From != 1 {
		t.Errorf("got %+v, want %d", got, len(want))
	}
	end, _ := n.notes.Checkpoint()
	if got.Last != end-1 {
		t.Errorf("last is %d, and the record of it at %d", got.Last, end)
	}
	if again := replay(t, r, domain.ReplayOrder{Subscription: "s", From: got.Last + 1}); again.Count != 0 || again.Last != end {
		t.Errorf("from the end on: got %+v", again)
	}
	if at, _ := n.notes.Checkpoint(); at != end {
		t.Error("a replay of nothing is on record")
	}
	next, parts := uint64(1), 0
	for more := true; more; parts++ {
		part := replay(t, r, domain.ReplayOrder{Subscription: "s", From: next, Limit: 7})
		next, more = part.Last+1, part.More
	}
	if all := take(t, bodies, len(want)); !slices.Equal(all, want) || parts < len(want)/8 || len(bodies) > 0 {
		t.Errorf("in %d parts: received %v and %d more, want %v", parts, all, len(bodies), want)
	}
}

// What was delivered later than it matched comes where it was delivered; what is under way comes where it matched.
func TestReplayOfLateDeliveries(t *testing.T) {
	n := mustNode(t)
	c, other := channel(t), channel(t)
	n.startEngine()
	n.do(domain.AddSubscription{Subscription: subscription("s", c, other)})
	routed := func(content string) domain.Transmission {
		id, now := uuid.Must(uuid.NewV7()).String(), time.Now().UnixMilli()
		tr := domain.Transmission{
			ID: uuid.Must(uuid.NewV7()).String(), NotificationID: id, SubscriptionName: "s", Channel: c,
			Status: domain.StatusResending, ResendLimit: 9, Created: now, Next: now + hangs.Milliseconds(),
		}
		n.submit(n.notifications, domain.AddNotification{Notification: domain.Notification{
			ID: id, Category: "FIRE", Content: content, Sender: "x", Severity: domain.SeverityNormal, Status: domain.StatusNew,
		}})
		return tr
	}
	record := func(tr domain.Transmission) {
		n.submit(n.notifications, domain.ProcessNotification{ID: tr.NotificationID, Matched: []string{"s"}, Transmissions: []domain.Transmission{tr}, At: tr.Created})
	}
	n.stopEngine() // it would route them itself
	late, now, waits := routed("late"), routed("now"), routed("waits")
	now.Status, now.Next = domain.StatusSent, 0
	record(late)
	record(now)
	record(waits)
	n.submit(n.notifications, domain.RecordTry{ID: late.ID, Status: domain.StatusSent, Record: domain.TransmissionRecord{Status: domain.StatusSent}})
	n.startEngine()
	bodies, others := listen(t, c), listen(t, other)
	replay(t, n.replays(ample), domain.ReplayOrder{Subscription: "s"})
	if got := take(t, bodies, 3); !slices.Equal(got, []string{"now", "waits", "late"}) {
		t.Errorf("received %v, want what came late last", got)
	}
	if got := take(t, others, 3); !slices.Equal(got, []string{"late", "now", "waits"}) {
		t.Errorf("a channel that is new received %v, want all as they matched", got)
	}
}

// What was sent a moment ago, and is not on record yet, is waited for: who subscribed after it would miss it.
func TestReplayWaitsForTheRecord(t *testing.T) {
	for what, happen := range map[string]func(*node){
		"a device change": func(n *node) { n.do(domain.AddDevice{Device: device("cam-1")}) },
		"what is posted":  func(n *node) { n.postNotice(domain.DeviceChanged, "posted") },
	} {
		t.Run(what, func(t *testing.T) {
			n := mustNode(t)
			c := channel(t)
			n.do(domain.AddSubscription{Subscription: subscription("s", c)})
			var full atomic.Bool
			full.Store(true)
			n.refuse = func(int, int) bool { return full.Load() }
			n.startEngine()
			bodies := listen(t, c)
			if _, err := n.sockets.AwaitSubscriber(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			happen(n)
			take(t, bodies, 1)
			hurried := ample
			hurried.Time = 50 * time.Millisecond
			if _, err := n.replays(hurried).Replay(t.Context(), domain.ReplayOrder{Subscription: "s"}, byTest); domain.CodeOf(err) != domain.Unavailable {
				t.Errorf("while the log takes nothing: got %v", err)
			}
			full.Store(false) // the bridge waits before it tries again
			if got := replay(t, n.replays(ample), domain.ReplayOrder{Subscription: "s"}); got.Count != 1 {
				t.Errorf("got %+v, want it", got)
			}
			take(t, bodies, 1)
		})
	}
}

func TestReplayRefusals(t *testing.T) {
	n := mustNode(t)
	locked := subscription("locked", channel(t))
	locked.AdminState = domain.StateLocked
	n.do(domain.AddSubscription{Subscription: locked}, domain.AddSubscription{Subscription: subscription("deaf", channel(t))})
	n.startEngine()
	l := ample
	l.Wait = time.Millisecond
	r := n.replays(l)
	for _, tt := range []struct {
		name  string
		order domain.ReplayOrder
		code  domain.Code
		says  string
	}{
		{"unknown", domain.ReplayOrder{Subscription: "none"}, domain.NotFound, `"none" does not exist`},
		{"locked", domain.ReplayOrder{Subscription: "locked"}, domain.Locked, "adminState is LOCKED; set it to UNLOCKED first"},
		{"nobody", domain.ReplayOrder{Subscription: "deaf"}, domain.Conflict, "connect a SUB socket first, then replay"},
		{"beyond the end", domain.ReplayOrder{Subscription: "deaf", From: 2}, domain.Invalid, "from: sequence 2 is beyond the end; the last one on record is 0"},
		{"too many", domain.ReplayOrder{Subscription: "deaf", Limit: 1001}, domain.Invalid, "limit: 1001 is too many; give at most 1000"},
	} {
		_, err := r.Replay(t.Context(), tt.order, byTest)
		if domain.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.says)
		}
	}
}

// restOnly is a Bridge whose subscriptions have no ZeroMQ channel.
type restOnly struct{ replays.Bridge }

func (restOnly) Subscription(name string) (domain.Subscription, bool) {
	return subscription(name, domain.Channel{Type: "REST", Host: "h", Port: 1}), true
}

func TestReplayNeedsZeroMQ(t *testing.T) {
	n := mustNode(t)
	n.startEngine()
	r := n.replays(ample, func(o *replays.Options) { o.Bridge = restOnly{n.engine} })
	_, err := r.Replay(t.Context(), domain.ReplayOrder{Subscription: "s"}, byTest)
	if domain.CodeOf(err) != domain.Conflict || !strings.Contains(err.Error(), `subscription "s" has no channel of type ZeroMQ`) {
		t.Errorf("got %v", err)
	}
}

// held is a Bridge on which a replay stays until it is let go.
type held struct {
	replays.Bridge
	entered, release chan struct{}
}

func (h held) Flush(ctx context.Context) error {
	h.entered <- struct{}{}
	<-h.release
	return h.Bridge.Flush(ctx)
}

func TestReplaysAtOnce(t *testing.T) {
	n := mustNode(t)
	c := channel(t)
	n.do(domain.AddSubscription{Subscription: subscription("a", c)}, domain.AddSubscription{Subscription: subscription("b", c)})
	n.startEngine()
	listen(t, c)
	l := ample
	l.AtOnce = 1
	h := held{n.engine, make(chan struct{}, 2), make(chan struct{})}
	r := n.replays(l, func(o *replays.Options) { o.Bridge = h })
	first := make(chan error)
	go func() {
		_, err := r.Replay(t.Context(), domain.ReplayOrder{Subscription: "a"}, byTest)
		first <- err
	}()
	<-h.entered
	if _, err := r.Replay(t.Context(), domain.ReplayOrder{Subscription: "a"}, byTest); domain.CodeOf(err) != domain.Conflict {
		t.Errorf("the same one: got %v", err)
	}
	if _, err := r.Replay(t.Context(), domain.ReplayOrder{Subscription: "b"}, byTest); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("one too many: got %v", err)
	}
	close(h.release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	replay(t, r, domain.ReplayOrder{Subscription: "b"})
}

// The cursor is where the last delivery is on record; what was not delivered does not move it.
func TestCursor(t *testing.T) {
	n := mustNode(t)
	c := channel(t)
	n.startEngine()
	r := n.replays(ample)
	wants := func(when string, want uint64) {
		t.Helper()
		if got, err := r.Cursor("s"); err != nil || got.Last != want || (got.Sent > 0) != (want > 0) {
			t.Errorf("%s: got %+v, %v, want %d", when, got, err, want)
		}
	}
	n.do(domain.AddSubscription{Subscription: subscription("s", c)})
	wants("before anything", 0)
	n.do(domain.AddDevice{Device: device("cam-1")})
	n.processed(1)
	wants("after a delivery", 1)
	n.postNotice("FIRE", "for nobody")
	n.processed(2)
	wants("after one for nobody", 1)
	n.stopEngine()
	for i := range 100 { // more than a page
		n.post(fmt.Sprint("failed ", i), domain.SeverityNormal, 0, domain.Channel{Type: "REST", Host: "h", Port: 1})
	}
	wants("after what waits", 1)
	n.startEngine()
	n.do(domain.AddDevice{Device: device("cam-2")})
	n.processed(3)
	end, _ := n.notes.Checkpoint()
	wants("after the next delivery", end)
}
