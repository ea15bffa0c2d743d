package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/guard"
	"ledge/bridge/mail"
	"ledge/bridge/mailtest"
	"ledge/bridge/outward"
	"ledge/bridge/porttest"
	"ledge/bridge/rest"
	"ledge/domain"
)

// realREST delivers as the program does.
func (n *node) realREST() {
	n.tb.Helper()
	s := rest.New(rest.Options{Dial: guard.New(guard.Options{}).DialContext})
	n.tb.Cleanup(s.Close)
	n.rest = func(ctx context.Context, t domain.Transmission, note domain.Notification) (string, error) {
		ch := t.Channel
		return s.Send(ctx, rest.Target{Host: ch.Host, Port: ch.Port, Path: ch.Path, Method: http.MethodPost}, outward.Message{
			ID: t.ID, NotificationID: note.ID, At: time.UnixMilli(note.Created), Sequence: t.Sequence, Body: []byte(note.Content),
		})
	}
}

// hearing is a receiver that notes the changes that it has answered with 200, by device.
type hearing struct {
	*httptest.Server
	status func(call int) int

	mu    sync.Mutex
	calls int
	heard map[string][]uint64 // sequences
}

func mustHearing(tb testing.TB, status func(call int) int) *hearing {
	tb.Helper()
	h := &hearing{status: status, heard: map[string][]uint64{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.calls++; h.status(h.calls) != http.StatusOK {
			w.WriteHeader(h.status(h.calls))
			return
		}
		var change struct{ DeviceName string }
		if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
			tb.Error(err)
		}
		seq, err := strconv.ParseUint(r.Header.Get("ce-sequence"), 10, 64)
		if err != nil {
			tb.Errorf("ce-sequence: %v", err)
		}
		h.heard[change.DeviceName] = append(h.heard[change.DeviceName], seq)
	}))
	tb.Cleanup(h.Close)
	return h
}

func (h *hearing) channel(path string) domain.Channel {
	return domain.Channel{Type: domain.ChannelREST, Host: "127.0.0.1", Port: h.Listener.Addr().(*net.TCPAddr).Port, Path: path, HTTPMethod: http.MethodPost}
}

// change toggles the operating state of some devices, each so many times, after it has added them.
func (n *node) change(devices, times int) (last map[string]uint64) {
	n.tb.Helper()
	last = map[string]uint64{}
	for i := range devices {
		name := fmt.Sprint("cam-", i)
		last[name] = n.do(domain.AddDevice{Device: device(name)})
	}
	n.toggle(last, times)
	return last
}

// toggle changes each of some devices so many times.
func (n *node) toggle(last map[string]uint64, times int) {
	n.tb.Helper()
	names := slices.Sorted(maps.Keys(last))
	for k := range times {
		for _, name := range names {
			state := []string{domain.StateDown, domain.StateUp}[k%2]
			last[name] = n.do(domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", name, "operatingState", state)})
		}
	}
}

// isInOrder holds that each device was heard of so many times, in the order of the log.
func (h *hearing) isInOrder(t *testing.T, last map[string]uint64, times int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, seq := range last {
		got := h.heard[name]
		if len(got) < times || !slices.IsSorted(got) || got[len(got)-1] != seq {
			t.Errorf("%s: heard %v, want %d in order up to %d", name, got, times, seq)
		}
	}
}

// allSent waits until so many transmissions are SENT and none is open.
func (n *node) allSent(count int) {
	n.tb.Helper()
	n.until("all sent", func(_ domain.State, lists domain.Lists) bool {
		_, total, err := lists.Transmissions(domain.Page{}, domain.Filter{Index: domain.IndexStatus, Value: domain.StatusSent})
		return err == nil && total >= count
	})
}

// Changes of one device arrive in the order of the log, though one call in three fails.
func TestChangesOfADeviceArriveInOrder(t *testing.T) {
	n := mustNode(t)
	n.realREST()
	h := mustHearing(t, func(call int) int {
		if call%3 == 0 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	s := subscription("s", h.channel("/hook"))
	s.ResendLimit, s.ResendInterval = 90, "10ms"
	n.do(domain.AddSubscription{Subscription: s})
	n.startEngine()
	n.startDelivery(quick)
	const devices, times = 30, 10
	last := n.change(devices, times)
	n.allSent(devices * (times + 1))
	h.isInOrder(t, last, times+1)
}

// The order holds across a restart, and where more waits than the queue of a target holds.
func TestOrderAcrossRestart(t *testing.T) {
	n := mustNode(t)
	n.realREST()
	up := make(chan struct{})
	h := mustHearing(t, func(call int) int {
		select {
		case <-up:
			if call%3 > 0 {
				return http.StatusOK
			}
		default:
		}
		return http.StatusServiceUnavailable
	})
	s := subscription("s", h.channel("/hook"))
	s.ResendLimit, s.ResendInterval = 90, "10ms"
	n.do(domain.AddSubscription{Subscription: s})
	n.startEngine()
	l := quick
	l.Queue = 50
	d := n.startDelivery(l)
	const devices, times = 20, 10
	last := n.change(devices, times)
	if err := n.engine.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Close()
	close(up)
	n.startDelivery(l)
	n.toggle(last, times)
	n.allSent(devices * (2*times + 1))
	h.isInOrder(t, last, 2*times+1)
}

// A path that answers 500 keeps nothing from another path of its server, even if no time passes that ends a pause.
func TestFailingPathKeepsNothingFromOthers(t *testing.T) {
	n := mustNode(t)
	n.realREST()
	n.standStill()
	mux := http.NewServeMux()
	mux.HandleFunc("/bad", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.HandleFunc("/good", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	n.startDelivery(quick)
	to := func(path string) domain.Channel {
		return domain.Channel{Type: domain.ChannelREST, Host: "127.0.0.1", Port: server.Listener.Addr().(*net.TCPAddr).Port, Path: path}
	}
	for i := range 20 {
		n.post(fmt.Sprint(i), domain.SeverityNormal, 90, to("/bad"))
	}
	n.until("all failed once", func(_ domain.State, lists domain.Lists) bool {
		list, _, err := lists.Transmissions(domain.Page{Limit: 100})
		return err == nil && !slices.ContainsFunc(list, func(t domain.Transmission) bool { return len(t.Records) == 0 })
	})
	for range 20 {
		n.ended(n.post("good", domain.SeverityNormal, 0, to("/good")).ID, domain.StatusProcessed)
	}
}

// The clock of a transmission goes on during the pause of its endpoint: at a closed port each one has its tries when they are due, and what
// is CRITICAL is escalated after the last.
func TestEscalatedInTime(t *testing.T) {
	n := mustNode(t)
	n.realREST()
	n.standStill()
	boss := mustReceiver(t, nil)
	closed := domain.Channel{Type: domain.ChannelREST, Host: "127.0.0.1", Port: porttest.Hold(t), HTTPMethod: http.MethodPost}
	l := quick
	l.LongestPause = time.Hour
	n.startDelivery(l, subscription("ESCALATION", boss.channel()))
	n.interval, n.growing = 1000, false
	const many = 20
	var notes []domain.Notification
	for i := range many {
		notes = append(notes, n.post(fmt.Sprint(i), domain.SeverityCritical, 2, closed))
	}
	for tries := 1; tries <= 3; tries++ {
		n.until(fmt.Sprintf("%d tries of each", tries), func(_ domain.State, lists domain.Lists) bool {
			for _, note := range notes {
				ts, _, err := lists.Transmissions(domain.Page{Limit: 10}, domain.Filter{Index: domain.IndexNotification, Value: note.ID})
				if err != nil || len(ts) != 1 || len(ts[0].Records) < tries {
					return false
				}
			}
			return true
		})
		n.ahead.Add(int64(time.Second))
		n.post("look again", domain.SeverityNormal, 90, closed)
	}
	for _, note := range notes {
		if ts := n.ended(note.ID, domain.StatusProcessed); ts[0].Status != domain.StatusEscalated || len(ts[0].Records) != 3 {
			t.Errorf("got %+v, want ESCALATED after 3 tries", ts[0])
		}
	}
	n.until("escalations", func(domain.State, domain.Lists) bool { return boss.count() == many })
}

// A CRITICAL notification without resends of its subscription's own is escalated once at the age at which EdgeX's defaults escalate it. Its
// resends go on, and it arrives when its receiver is back.
func TestEscalatedWhileResendsGoOn(t *testing.T) {
	n := mustNode(t)
	n.standStill()
	boss := mustReceiver(t, nil)
	var back atomic.Bool
	away := mustReceiver(t, func(w http.ResponseWriter, _ string) {
		if !back.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	n.startDelivery(quick, subscription("ESCALATION", boss.channel()))
	n.interval = time.Hour.Milliseconds()
	note := n.post("fire", domain.SeverityCritical, 20, away.channel())
	tried := func(tries, escalations int) {
		t.Helper()
		n.until(fmt.Sprintf("try %d", tries), func(_ domain.State, lists domain.Lists) bool {
			ts, _, err := lists.Transmissions(domain.Page{Limit: 10}, domain.Filter{Index: domain.IndexNotification, Value: note.ID})
			told, _, failed := lists.Transmissions(domain.Page{Limit: 10}, domain.Filter{Index: domain.IndexSubscription, Value: "ESCALATION"})
			return err == nil && failed == nil && len(ts) == 1 && len(ts[0].Records) == tries && ts[0].IsOpen() && len(told) == escalations
		})
	}
	tried(1, 0)
	n.ahead.Add(int64(10 * time.Second))
	n.post("look again", domain.SeverityNormal, 0, away.channel())
	tried(2, 1)
	n.ahead.Add(int64(quick.LongestWait * 2))
	n.post("look again", domain.SeverityNormal, 0, away.channel())
	tried(3, 1)
	back.Store(true)
	n.ahead.Add(int64(quick.LongestWait * 2))
	n.post("look again", domain.SeverityNormal, 0, away.channel())
	if ts := n.ended(note.ID, domain.StatusProcessed); ts[0].Status != domain.StatusSent || len(ts[0].Records) != 4 {
		t.Errorf("got %+v, want SENT at the fourth try", ts[0])
	}
}

// What is CRITICAL goes before what waited for longer.
func TestCriticalGoesFirst(t *testing.T) {
	n := mustNode(t)
	n.realREST()
	r := mustReceiver(t, nil)
	for range 20 {
		n.post("normal", domain.SeverityNormal, 0, r.channel())
	}
	n.post("critical", domain.SeverityCritical, 0, r.channel())
	l := quick
	l.AtOnce = 1
	n.startDelivery(l)
	n.allSent(21)
	if got := r.bodies(); got[0] != "critical" {
		t.Errorf("first came %q", got[0])
	}
}

// An endpoint that was away for longer than any pause gets what waited for it as soon as a probe finds it, not when each try is due.
func TestEndpointThatComesBack(t *testing.T) {
	n := mustNode(t)
	n.realREST()
	port := porttest.Hold(t)
	away := domain.Channel{Type: domain.ChannelREST, Host: "127.0.0.1", Port: port, HTTPMethod: http.MethodPost}
	n.startDelivery(quick)
	n.interval = hangs.Milliseconds() * 10
	for i := range 50 {
		n.post(fmt.Sprint(i), domain.SeverityNormal, 20, away)
	}
	n.until("all failed once", func(_ domain.State, lists domain.Lists) bool {
		list, _, err := lists.Transmissions(domain.Page{Limit: 100})
		return err == nil && !slices.ContainsFunc(list, func(t domain.Transmission) bool { return len(t.Records) == 0 })
	})
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	n.allSent(50)
}

// An e-mail that some recipients do not have yet goes to these alone. What is refused for one of them for good is not delivered.
func TestMailGoesAgainToTheOthers(t *testing.T) {
	server := mailtest.Start(t, "plain")
	at, err := mail.ParseServer(fmt.Sprintf("smtp+plain://127.0.0.1:%d?from=ledge@example.org", server.Port))
	if err != nil {
		t.Fatal(err)
	}
	sender := mail.New(mail.Options{Dial: guard.New(guard.Options{}).DialContext, Server: at})
	n := mustNode(t)
	n.mail = func(ctx context.Context, t domain.Transmission, note domain.Notification) (string, error) {
		to := t.Channel.Recipients
		if len(t.Left) > 0 {
			to = t.Left
		}
		return sender.Send(ctx, mail.Target{Recipients: to}, outward.Message{ID: t.ID, Body: []byte(note.Content)})
	}
	n.startDelivery(quick)
	for _, tt := range []struct {
		to     []string
		status string
		taken  [][]string
	}{
		{[]string{"a@example.org", "grey-1@example.org"}, domain.StatusSent, [][]string{{"a@example.org"}, {"grey-1@example.org"}}},
		{[]string{"a@example.org", "grey-2@example.org", "no@example.org"}, domain.StatusFailed, [][]string{{"a@example.org"}, {"grey-2@example.org"}}},
	} {
		note := n.post("fire", domain.SeverityNormal, 5, domain.Channel{Type: domain.ChannelEmail, Recipients: tt.to})
		for _, want := range tt.taken {
			if got := server.Next(); !slices.Equal(got.To, want) {
				t.Errorf("%v: taken for %v, want %v", tt.to, got.To, want)
			}
		}
		if ts := n.ended(note.ID, domain.StatusProcessed); ts[0].Status != tt.status || len(ts[0].Records) != 2 || !slices.Equal(ts[0].Channel.Recipients, tt.to) {
			t.Errorf("%v: got %+v, want %s after two tries", tt.to, ts[0], tt.status)
		}
	}
}

// What a request raised and what was posted is on record after Flush, though nobody else comes.
func TestTransmissionsAreSeenAfterTheAnswer(t *testing.T) {
	n := mustNode(t)
	n.realREST()
	n.do(domain.AddSubscription{Subscription: subscription("s", mustHearing(t, nil).channel("/"))})
	n.startEngine()
	for i := range 20 {
		n.do(domain.AddDevice{Device: device(fmt.Sprint("cam-", i))})
		n.submit(n.notifications, domain.AddNotification{Notification: domain.Notification{
			ID: uuid.NewString(), Category: domain.DeviceChanged, Content: "{}", Sender: "x", Severity: domain.SeverityNormal, Status: domain.StatusNew,
		}})
		if err := n.engine.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(n.transmissions()); got != 2*(i+1) {
			t.Fatalf("%d transmissions after %d changes and as many posts", got, i+1)
		}
	}
}

// While the log takes nothing, nobody waits for it for longer than they want to.
func TestSettleEndsWithItsContext(t *testing.T) {
	n := mustNode(t)
	n.subscribeElsewhere()
	refused := make(chan struct{}, 100)
	n.refuse = func(int, int) bool {
		select {
		case refused <- struct{}{}:
		default:
		}
		return true
	}
	n.startEngine()
	n.do(domain.AddDevice{Device: device("cam")})
	<-refused
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.engine.Flush(ctx); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("got %v", err)
	}
}
