package bridge_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/delivery"
	"ledge/bridge/lanes"
	"ledge/domain"
)

// poster is the least sender over HTTP.
type poster struct{}

func (poster) Send(ctx context.Context, t domain.Transmission, n domain.Notification) (string, error) {
	ch := t.Channel
	url := "http://" + net.JoinHostPort(ch.Host, strconv.Itoa(ch.Port)) + "/" + ch.Topic
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(n.Content))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode < 300:
		return string(body), nil
	default:
		return "", refusal(resp.StatusCode)
	}
}

type refusal int

func (r refusal) Error() string   { return fmt.Sprint("status ", int(r)) }
func (r refusal) Permanent() bool { return r < 500 }
func (r refusal) Answered() bool  { return true }

// receiver is an HTTP server that notes what it gets.
type receiver struct {
	*httptest.Server
	answer func(w http.ResponseWriter, body string)

	mu  sync.Mutex
	got []string
}

func mustReceiver(tb testing.TB, answer func(w http.ResponseWriter, body string)) *receiver {
	tb.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.got = append(r.got, string(b))
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(w, string(b))
		}
	}))
	tb.Cleanup(r.Close)
	return r
}

func (r *receiver) bodies() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) count() int { return len(r.bodies()) }

func (r *receiver) channel() domain.Channel {
	a := r.Listener.Addr().(*net.TCPAddr)
	return domain.Channel{Type: "REST", Host: "127.0.0.1", Port: a.Port}
}

// quick are limits that let a test see in a moment what takes minutes in the field.
var quick = delivery.Limits{
	Limits:      lanes.Limits{AtOnce: 4, Concurrency: 16, Queue: 100, Timeout: hangs, LongestPause: 20 * time.Millisecond},
	LongestWait: time.Second, GiveUp: time.Hour,
}

// startDelivery starts the delivery of what is open; a test may start it again after it has closed it.
func (n *node) startDelivery(l delivery.Limits, escalation ...domain.Subscription) *delivery.Delivery {
	n.tb.Helper()
	at, _ := n.notes.Checkpoint()
	senders := map[string]delivery.Sender{"REST": poster{}.Send}
	if n.mail != nil {
		senders[domain.ChannelEmail] = n.mail
	}
	if n.rest != nil {
		senders["REST"] = n.rest
	}
	if n.engine != nil {
		senders[domain.ChannelZeroMQ] = n.engine.Send
	}
	d := delivery.New(delivery.Options{
		Limits: l, Log: n.notifications, Senders: senders,
		Look: func() (domain.View, func()) {
			v, done := n.notes.View()
			return domain.View{State: v.State, Lists: v}, func() {
				done()
				if n.looked != nil {
					n.looked()
				}
			}
		},
		Escalation: func() (s domain.Subscription, ok bool) {
			for _, s := range escalation {
				return s, true
			}
			return s, false
		},
		Now: n.clock, Logger: slog.New(slog.DiscardHandler),
	})
	if err := d.Start(at); err != nil {
		n.tb.Fatal(err)
	}
	n.tb.Cleanup(d.Close)
	return d
}

// post has a notification recorded that is open on the channels, each with so many resends.
func (n *node) post(content, severity string, resends int, channels ...domain.Channel) domain.Notification {
	n.tb.Helper()
	now := n.clock().UnixMilli()
	note := domain.Notification{
		ID: uuid.Must(uuid.NewV7()).String(), Category: "FIRE", Content: content, Sender: "test", Severity: severity,
		Status: domain.StatusNew, Created: now, Modified: now,
	}
	var ts []domain.Transmission
	for _, ch := range channels {
		ts = append(ts, domain.Transmission{
			ID: uuid.Must(uuid.NewV7()).String(), NotificationID: note.ID, SubscriptionName: "s", Channel: ch,
			Status: domain.StatusResending, ResendLimit: resends, ResendInterval: n.interval, Created: now, Next: now,
			FixedInterval: !n.growing, Critical: severity == domain.SeverityCritical,
		})
	}
	n.submit(n.notifications, domain.AddNotification{Notification: note}, domain.ProcessNotification{ID: note.ID, Transmissions: ts, At: now})
	return note
}

// until waits until the state of the notifications is as ok wants it.
func (n *node) until(what string, ok func(domain.State, domain.Lists) bool) {
	n.tb.Helper()
	ctx, cancel := context.WithTimeout(n.tb.Context(), hangs)
	defer cancel()
	for {
		at, _ := n.notes.Checkpoint()
		v, done := n.notes.View()
		fine := ok(v.State, v)
		done()
		if fine {
			return
		}
		if err := n.notes.Wait(ctx, at+1); err != nil {
			n.tb.Fatalf("%s: %v", what, err)
		}
	}
}

// ended waits until a notification has all its outcomes, and returns its transmissions.
func (n *node) ended(id, status string) (ts []domain.Transmission) {
	n.tb.Helper()
	n.until("notification "+status, func(s domain.State, lists domain.Lists) bool {
		note, _ := s.Notifications.Get(id)
		if note.Open > 0 || note.Status != status {
			return false
		}
		var err error
		ts, _, err = lists.Transmissions(domain.Page{Limit: 100}, domain.Filter{Index: domain.IndexNotification, Value: id})
		if err != nil {
			n.tb.Fatal(err)
		}
		return true
	})
	return ts
}

func TestDeliveredOnEachChannel(t *testing.T) {
	n := mustNode(t)
	a := mustReceiver(t, func(w http.ResponseWriter, _ string) { fmt.Fprint(w, "thanks") })
	b := mustReceiver(t, nil)
	n.startDelivery(quick)
	note := n.post("fire", domain.SeverityNormal, 0, a.channel(), b.channel())
	ts := n.ended(note.ID, domain.StatusProcessed)
	if len(ts) != 2 || a.count() != 1 || b.count() != 1 {
		t.Fatalf("%d transmissions, %d and %d received, want 2, 1, 1", len(ts), a.count(), b.count())
	}
	for _, tr := range ts {
		if tr.Status != domain.StatusSent || len(tr.Records) != 1 || tr.Next != 0 {
			t.Errorf("got %+v, want it sent at the first try", tr)
		}
		if reflect.DeepEqual(tr.Channel, a.channel()) && tr.Records[0].Response != "thanks" {
			t.Errorf("response %q, want what the receiver said", tr.Records[0].Response)
		}
	}
}

func TestSentAgainUntilTaken(t *testing.T) {
	n := mustNode(t)
	var calls atomic.Int64
	r := mustReceiver(t, func(w http.ResponseWriter, _ string) {
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	n.startDelivery(quick)
	ts := n.ended(n.post("fire", domain.SeverityMinor, 5, r.channel()).ID, domain.StatusProcessed)
	if got := ts[0]; got.Status != domain.StatusSent || got.ResendCount != 2 || len(got.Records) != 3 || got.Records[0].Status != domain.StatusFailed {
		t.Errorf("got %+v, want it sent at the third try", got)
	}
}

func TestGivenUp(t *testing.T) {
	n := mustNode(t)
	fails := mustReceiver(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusInternalServerError) })
	refuses := mustReceiver(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusForbidden) })
	n.startDelivery(quick)
	for _, tt := range []struct {
		name  string
		to    *receiver
		tries int
	}{{"after its resends", fails, 3}, {"where another try is in vain", refuses, 1}} {
		ts := n.ended(n.post(tt.name, domain.SeverityNormal, 2, tt.to.channel()).ID, domain.StatusProcessed)
		if got := ts[0]; got.Status != domain.StatusFailed || len(got.Records) != tt.tries {
			t.Errorf("%s: %s after %d tries, want FAILED after %d", tt.name, got.Status, len(got.Records), tt.tries)
		}
	}
}

func TestGivenUpForItsAge(t *testing.T) {
	n := mustNode(t)
	r := mustReceiver(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusInternalServerError) })
	note := n.post("fire", domain.SeverityNormal, 90, r.channel())
	n.ahead.Store(int64(2 * time.Hour))
	n.startDelivery(quick)
	if ts := n.ended(note.ID, domain.StatusProcessed); len(ts[0].Records) != 1 {
		t.Errorf("%d tries, want one", len(ts[0].Records))
	}
}

func TestEscalated(t *testing.T) {
	n := mustNode(t)
	broken := mustReceiver(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusInternalServerError) })
	boss := mustReceiver(t, nil)
	n.startDelivery(quick, subscription("ESCALATION", boss.channel()))
	note := n.post("fire", domain.SeverityCritical, 1, broken.channel())
	ts := n.ended(note.ID, domain.StatusProcessed)
	if ts[0].Status != domain.StatusEscalated || len(ts[0].Records) != 2 {
		t.Fatalf("got %+v, want ESCALATED after two tries", ts[0])
	}
	n.until("escalation", func(_ domain.State, lists domain.Lists) bool {
		list, _, err := lists.Transmissions(domain.Page{Limit: 10}, domain.Filter{Index: domain.IndexSubscription, Value: "ESCALATION"})
		return err == nil && len(list) == 1 && list[0].Status == domain.StatusSent
	})
	if want := "[This notification is escalated by the transmission " + ts[0].ID + "] fire"; !slices.Equal(boss.bodies(), []string{want}) {
		t.Errorf("got %q, want %q", boss.bodies(), want)
	}
}

// What is critical is escalated where a socket does not take it and nothing is to be sent again.
func TestEscalatedWithoutASocket(t *testing.T) {
	n := mustNode(t)
	c := channel(t)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	boss := mustReceiver(t, nil)
	n.do(domain.AddSubscription{Subscription: subscription("s", c)})
	n.startEngine()
	n.startDelivery(quick, subscription("ESCALATION", boss.channel()))
	note := domain.Notification{
		ID: uuid.Must(uuid.NewV7()).String(), Category: domain.DeviceChanged, Content: "fire", Sender: "test",
		Severity: domain.SeverityCritical, Status: domain.StatusNew, Created: time.Now().UnixMilli(),
	}
	n.submit(n.notifications, domain.AddNotification{Notification: note})
	if ts := n.ended(note.ID, domain.StatusProcessed); len(ts) != 1 || ts[0].Status != domain.StatusEscalated || len(ts[0].Records) != 1 {
		t.Fatalf("got %+v, want one that is ESCALATED after one try", ts)
	}
	n.until("escalation", func(domain.State, domain.Lists) bool { return boss.count() == 1 })
}

// A clock that is set back holds no try up for longer than the longest wait.
func TestClockSetBack(t *testing.T) {
	n := mustNode(t)
	var fine atomic.Bool
	r := mustReceiver(t, func(w http.ResponseWriter, _ string) {
		if !fine.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	n.ahead.Store(int64(quick.GiveUp / 2))
	d := n.startDelivery(quick)
	note := n.post("fire", domain.SeverityNormal, 90, r.channel())
	n.until("a try", func(_ domain.State, lists domain.Lists) bool {
		list, _, err := lists.Transmissions(domain.Page{Limit: 1})
		return err == nil && len(list) == 1 && len(list[0].Records) > 0
	})
	d.Close()
	fine.Store(true)
	n.ahead.Store(0)
	n.startDelivery(quick)
	if ts := n.ended(note.ID, domain.StatusProcessed); ts[0].Status != domain.StatusSent {
		t.Errorf("got %+v, want it sent", ts[0])
	}
}

// A receiver that stalls and one that fails hold nobody else up.
func TestDeadEndpointsDelayNobody(t *testing.T) {
	n := mustNode(t)
	release := make(chan struct{})
	held := make(chan struct{}, 100)
	stalls := mustReceiver(t, func(http.ResponseWriter, string) { held <- struct{}{}; <-release })
	fails := mustReceiver(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusServiceUnavailable) })
	fine := mustReceiver(t, nil)
	defer close(release)
	d := n.startDelivery(quick)
	for range 50 {
		n.post("x", domain.SeverityNormal, 90, stalls.channel(), fails.channel())
	}
	for range 50 {
		n.ended(n.post("y", domain.SeverityNormal, 0, fine.channel()).ID, domain.StatusProcessed)
	}
	<-held
	states := map[string]domain.EndpointState{}
	n.until("a failure", func(domain.State, domain.Lists) bool {
		for _, s := range d.Endpoints() {
			states[s.Endpoint] = s
		}
		return states[fails.channel().Endpoint()].Failures > 0
	})
	if s := states[fails.channel().Endpoint()]; s.Waiting == 0 {
		t.Errorf("of the endpoint that fails: got %+v", s)
	}
	if s := states[stalls.channel().Endpoint()]; s.UnderWay == 0 || s.Waiting == 0 || s.Failures != 0 {
		t.Errorf("of the endpoint that stalls: got %+v", s)
	}
	if got := stalls.count(); got > quick.AtOnce {
		t.Errorf("%d sends at once to one endpoint, want %d at most", got, quick.AtOnce)
	}
}

// More than fits into the queue of an endpoint stays on record and is delivered later, each once.
func TestMoreThanTheQueueHolds(t *testing.T) {
	n := mustNode(t)
	r := mustReceiver(t, nil)
	l := quick
	l.Queue = 5
	const many = 300
	for i := range many / 2 {
		n.post(fmt.Sprint(i), domain.SeverityNormal, 0, r.channel())
	}
	n.startDelivery(l)
	for i := range many / 2 {
		n.post(fmt.Sprint(many/2+i), domain.SeverityNormal, 0, r.channel())
	}
	n.until("all sent", func(_ domain.State, lists domain.Lists) bool {
		_, total, err := lists.Transmissions(domain.Page{Limit: 0}, domain.Filter{Index: domain.IndexStatus, Value: domain.StatusSent})
		return err == nil && total == many
	})
	if got := r.count(); got != many {
		t.Errorf("received %d, want %d", got, many)
	}
}

// What is raised while the start takes up what is open, more than it reads at once, hides nothing of it.
func TestRaisedWhileTakenUp(t *testing.T) {
	n := mustNode(t)
	r := mustReceiver(t, nil)
	const many, each = 12, 50
	for i := range many {
		n.post(fmt.Sprint(i), domain.SeverityNormal, 0, slices.Repeat([]domain.Channel{r.channel()}, each)...)
	}
	var looks atomic.Int64
	n.looked = func() {
		if looks.Add(1) <= 3 {
			n.post("meanwhile", domain.SeverityNormal, 0, r.channel())
		}
	}
	l := quick
	l.Queue = 10 * many * each
	n.startDelivery(l)
	n.until("all sent", func(_ domain.State, lists domain.Lists) bool {
		_, total, err := lists.Transmissions(domain.Page{}, domain.Filter{Index: domain.IndexStatus, Value: domain.StatusSent})
		return err == nil && total == many*each+3
	})
}

// What is open at the end is taken up by the next start; what has its outcome is not sent again.
func TestRestartTakesUpWhatIsOpen(t *testing.T) {
	n := mustNode(t)
	var down atomic.Bool
	r := mustReceiver(t, func(w http.ResponseWriter, _ string) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	d := n.startDelivery(quick)
	n.ended(n.post("first", domain.SeverityNormal, 0, r.channel()).ID, domain.StatusProcessed)
	down.Store(true)
	second := n.post("second", domain.SeverityNormal, 90, r.channel())
	n.until("a failed try", func(_ domain.State, lists domain.Lists) bool {
		list, _, err := lists.Transmissions(domain.Page{Limit: 1}, domain.Filter{Index: domain.IndexNotification, Value: second.ID})
		return err == nil && len(list) == 1 && len(list[0].Records) > 0
	})
	d.Close()
	down.Store(false)
	n.startDelivery(quick)
	n.ended(second.ID, domain.StatusProcessed)
	if got := r.bodies(); got[0] != "first" || strings.Count(strings.Join(got, " "), "first") != 1 {
		t.Errorf("received %v, want the first once", got)
	}
}

// What was removed before its turn says nothing of the receiver: one that fails does not begin anew.
func TestRemovedIsNoSuccess(t *testing.T) {
	n := mustNode(t)
	r := mustReceiver(t, func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusServiceUnavailable) })
	d := n.startDelivery(quick)
	n.post("kept", domain.SeverityNormal, 90, r.channel())
	failures := 0
	n.until("failures", func(domain.State, domain.Lists) bool {
		if list := d.Endpoints(); len(list) > 0 {
			failures = list[0].Failures
		}
		return failures >= 3
	})
	for range 10 {
		n.remove(n.post("removed", domain.SeverityNormal, 90, r.channel()).ID)
	}
	n.until("the removed ones are out of the queue", func(domain.State, domain.Lists) bool {
		now := d.Endpoints()[0]
		if now.Failures < failures {
			t.Errorf("%d failures in a row after %d, with no success in between", now.Failures, failures)
		}
		failures = now.Failures
		return t.Failed() || now.Waiting+now.UnderWay == 1
	})
}

// What is removed while it is under way has no outcome on record, and holds no place in the queue after that.
func TestRemovedUnderWay(t *testing.T) {
	n := mustNode(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	r := mustReceiver(t, func(w http.ResponseWriter, body string) {
		if body == "removed" {
			close(arrived)
			<-release
		}
	})
	l := quick
	l.Queue = 1
	n.startDelivery(l)
	removed := n.post("removed", domain.SeverityNormal, 0, r.channel())
	<-arrived
	n.remove(removed.ID)
	close(release)
	n.ended(n.post("next", domain.SeverityNormal, 0, r.channel()).ID, domain.StatusProcessed)
}

func (n *node) remove(id string) {
	n.tb.Helper()
	v, done := n.notes.View()
	list, err := domain.Removals(domain.View{State: v.State, Lists: v}, []string{id})
	done()
	if err != nil {
		n.tb.Fatal(err)
	}
	n.submit(n.notifications, domain.RemoveNotifications{Removals: list})
}
