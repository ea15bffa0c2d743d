package tap_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
	"ledge/store/tap"

	"github.com/nats-io/nats.go"
)

func TestTapsSeeEventsLive(t *testing.T) {
	o := options(t.TempDir())
	s, p := mustOpen(t, o), storetest.NewProjection()
	a, nc := storetest.MustAppender(t, s.Events(), p), mustConnect(t, s.Tap().URL())
	for _, subject := range []string{"ledge.>", ">", "*.event.>", "ledge.event.service.*.added"} {
		sub := mustSubscribe(t, nc, subject)
		last, _ := s.Events().Last()
		storetest.MustAdd(t, a, strings.NewReplacer(".", "_", ">", "all", "*", "any").Replace(subject), 2)
		for i := range uint64(2) {
			m := mustNext(t, sub)
			if seen, _ := p.Checkpoint(); seen < last+1+i {
				t.Errorf("seen before it was applied: %d", last+1+i)
			}
			if got := m.Header.Get("Nats-Sequence"); got != fmt.Sprint(last+1+i) || !strings.HasPrefix(m.Subject, "ledge.event.service.") {
				t.Errorf("%s: got %s %s", subject, m.Subject, got)
			}
			if m.Header.Get("Nats-Stream") != "LEDGE_EVENTS" || m.Header.Get("Nats-Last-Sequence") != "0" || m.Header.Get("Nats-Expected-Last-Sequence") != "" {
				t.Errorf("headers %v", m.Header)
			}
			if m.Header.Get("ce-type") != "service.added/1" || m.Header.Get("ce-specversion") != "1.0" {
				t.Errorf("headers %v", m.Header)
			}
		}
		_ = sub.Unsubscribe()
	}
}

func TestTapsReadHistory(t *testing.T) {
	s, a, _ := mustTap(t)
	nc := mustConnect(t, s.Tap().HistoryURL())
	storetest.MustAdd(t, a, "a", 10)
	one, err := nc.Request("$JS.API.DIRECT.GET.LEDGE_EVENTS", []byte(`{"seq":3}`), patience)
	if err != nil || one.Header.Get("Nats-Subject") != "ledge.event.service.a-2.added" {
		t.Errorf("one: %+v, %v", one, err)
	}
	last, err := nc.Request("$JS.API.DIRECT.GET.LEDGE_EVENTS.ledge.event.service.a-7.added", nil, patience)
	if err != nil || last.Header.Get("Nats-Sequence") != "8" {
		t.Errorf("last by subject: %+v, %v", last, err)
	}
	inbox := nats.NewInbox()
	sub := mustSubscribe(t, nc, inbox)
	if err := nc.PublishRequest("$JS.API.DIRECT.GET.LEDGE_EVENTS", inbox, []byte(`{"seq":1,"batch":100}`)); err != nil {
		t.Fatal(err)
	}
	for want := 1; ; want++ {
		m := mustNext(t, sub)
		if m.Header.Get("Status") == "204" {
			if want != 11 {
				t.Errorf("batch ended before %d", want)
			}
			break
		}
		if got := m.Header.Get("Nats-Sequence"); got != fmt.Sprint(want) {
			t.Errorf("sequence %s, want %d", got, want)
		}
	}
	var info map[string]store.Info
	m, err := nc.Request("ledge.info", nil, patience)
	if err != nil || json.Unmarshal(m.Data, &info) != nil || info["LEDGE_EVENTS"].First != 1 || info["LEDGE_EVENTS"].Last != 10 || len(info) != 3 {
		t.Errorf("info %+v, %v", info, err)
	}
}

// asking asks where the streams end before it applies.
type asking struct {
	*storetest.Projection
	nc   *nats.Conn
	told []uint64
}

func (p *asking) Apply(events []domain.Recorded) error {
	p.told = append(p.told, p.end())
	return p.Projection.Apply(events)
}

func (p *asking) end() uint64 {
	var info map[string]store.Info
	if m, err := p.nc.Request("ledge.info", nil, patience); err == nil {
		_ = json.Unmarshal(m.Data, &info)
	}
	return info["LEDGE_NOTIFICATIONS"].Last
}

// TestTapsAreToldWhatIsVisible holds that history does not end beyond what a query shows.
func TestTapsAreToldWhatIsVisible(t *testing.T) {
	s, _, _ := mustTap(t)
	p := &asking{Projection: storetest.NewProjection(), nc: mustConnect(t, s.Tap().HistoryURL())}
	a := storetest.MustAppender(t, s.Notifications(), p)
	storetest.MustAdd(t, a, "a", 2)
	if got := append(p.told, p.end()); !slices.IsSorted(got) || got[0] != 0 || got[len(got)-2] >= 2 || got[len(got)-1] != 2 {
		t.Errorf("told %v, want 0 to begin with and 2 at the end alone", got)
	}
}

// TestTapsChangeNothing tries each way in, with a second tap and a Ledge-side reader as checkpoints.
func TestTapsChangeNothing(t *testing.T) {
	for _, url := range []func(*tap.Server) string{(*tap.Server).URL, (*tap.Server).HistoryURL} {
		s, a, _ := mustTap(t)
		triesEverything(t, s, a, mustConnect(t, url(s.Tap())))
	}
}

func triesEverything(t *testing.T, s *store.Store, a *store.Appender, nc *nats.Conn) {
	mustPublish(t, s, a, 3)
	other := mustConnect(t, s.Tap().URL())
	seen := mustSubscribe(t, other, "ledge.>")
	everything := mustSubscribe(t, other, ">")
	forged := []byte(`{"service":{"name":"forged"}}`)
	for _, subject := range []string{
		"ledge.event.service.forged.added", "ledge.append.event.service.forged.added", "ledge.reading.a.b.c",
		"ledge.notification.a.b.c", "ledge.append.reading.a.b.c", "anything", "_INBOX.other", "_R_.x", "$JS.ACK.LEDGE_EVENTS.c.1.1.1.1.1",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.LEDGE.CONNZ", "$SYS.REQ.USER.INFO", "$SYS.ACCOUNT.LEDGE.CONNECT",
		"$JS.API.STREAM.PURGE.LEDGE_EVENTS", "$JS.API.STREAM.DELETE.LEDGE_EVENTS", "$JS.FC.LEDGE_EVENTS.x",
	} {
		if err := nc.Publish(subject, forged); err != nil {
			t.Fatal(err)
		}
	}
	for _, api := range []string{
		"INFO", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.LEDGE_EVENTS", "STREAM.CREATE.TAPPED", "STREAM.UPDATE.LEDGE_EVENTS",
		"STREAM.DELETE.LEDGE_EVENTS", "STREAM.PURGE.LEDGE_EVENTS", "STREAM.MSG.GET.LEDGE_EVENTS", "STREAM.MSG.DELETE.LEDGE_EVENTS",
		"CONSUMER.CREATE.LEDGE_EVENTS", "CONSUMER.CREATE.LEDGE_EVENTS.c", "CONSUMER.DURABLE.CREATE.LEDGE_EVENTS.c",
		"CONSUMER.MSG.NEXT.LEDGE_EVENTS.c", "CONSUMER.NAMES.LEDGE_EVENTS", "CONSUMER.DELETE.LEDGE_EVENTS.c",
	} {
		body := `{"name":"TAPPED","subjects":["tapped.>"],"stream_name":"LEDGE_EVENTS","config":{"deliver_subject":"ledge.append.event.service.forged.added","ack_policy":"none"}}`
		if m, err := nc.Request("$JS.API."+api, []byte(body), 20*time.Millisecond); err == nil && m.Header.Get("Status") != "503" {
			t.Errorf("%s is answered: %s", api, m.Data)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	storetest.MustAdd(t, a, "b", 1)
	if m := mustNext(t, seen); m.Subject != "ledge.event.service.b-0.added" || m.Header.Get("Nats-Sequence") != "4" {
		t.Errorf("another tap saw %s", m.Subject)
	}
	if m := mustNext(t, everything); m.Subject != "ledge.event.service.b-0.added" {
		t.Errorf("another tap saw %s %q", m.Subject, m.Data)
	}
	if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != 4 {
		t.Errorf("log: %+v, %v", r, err)
	}
}

// TestTapsCannotForgeThroughReplies asks for history to be answered on the subject of a live event.
func TestTapsCannotForgeThroughReplies(t *testing.T) {
	s, a, tap := mustTap(t)
	nc := mustConnect(t, s.Tap().HistoryURL())
	mustPublish(t, s, a, 3)
	seen := mustSubscribe(t, mustConnect(t, s.Tap().URL()), "ledge.>")
	for _, reply := range []string{"ledge.event.service.forged.added", "ledge.append.event.service.forged.added"} {
		for _, service := range []string{"$JS.API.DIRECT.GET.LEDGE_EVENTS", "ledge.info"} {
			if err := nc.PublishRequest(service, reply, []byte(`{"seq":1}`)); err != nil {
				t.Fatal(err)
			}
			if err := tap.PublishRequest(service, reply, []byte(`{"seq":1}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tap.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Request("$JS.API.DIRECT.GET.LEDGE_EVENTS", []byte(`{"seq":1}`), patience); err != nil { // all before are served
		t.Fatal(err)
	}
	storetest.MustAdd(t, a, "b", 1)
	for {
		m := mustNext(t, seen)
		if m.Subject == "ledge.event.service.b-0.added" {
			break
		}
		t.Errorf("another tap saw %s: %v", m.Subject, m.Header)
	}
	if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != 4 {
		t.Errorf("log: %+v, %v", r, err)
	}
}

func TestTapsSeeNoAppends(t *testing.T) {
	_, a, nc := mustTap(t)
	sub := mustSubscribe(t, nc, ">")
	storetest.MustAdd(t, a, "a", 50)
	var subjects []string
	for range 50 {
		subjects = append(subjects, mustNext(t, sub).Subject)
	}
	if slices.ContainsFunc(subjects, func(s string) bool { return !strings.HasPrefix(s, "ledge.event.") }) {
		t.Errorf("saw %v", subjects)
	}
}

func TestTapCannotLogInAsLedge(t *testing.T) {
	s, _, _ := mustTap(t)
	for _, as := range []nats.Option{nats.UserInfo("ledge", ""), nats.UserInfo("ledge", "ledge"), nats.UserInfo("sys", "sys")} {
		if nc, err := nats.Connect(s.Tap().URL(), as); err == nil {
			nc.Close()
			t.Error("logged in")
		}
	}
}

func TestTapPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := options(t.TempDir())
	o.Tap.Port = l.Addr().(*net.TCPAddr).Port
	s, err := store.Open(t.Context(), o)
	if err == nil {
		_ = s.Close()
		t.Fatal("opened")
	}
	if want := fmt.Sprint(o.Tap.Port); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "tap-port") {
		t.Errorf("error %q", err)
	}
	if !errors.Is(err, tap.ErrListen) {
		t.Errorf("error %v is not ErrListen", err)
	}
}
