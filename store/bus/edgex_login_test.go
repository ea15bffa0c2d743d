package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"ledge/domain"
	"ledge/store/storetest"
)

// mustConnectAs connects with a role, and notes refusals.
func (s *secure) mustConnectAs(t *testing.T, role domain.Role) (nc *nats.Conn, refused chan error) {
	t.Helper()
	refused = make(chan error, 100)
	note := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
	return s.mustConnect(t, nats.UserInfo(string(role), string(role)), note), refused
}

// TestServiceRights holds that the role service may send the requests of EdgeX's clients, and nothing else.
func TestServiceRights(t *testing.T) {
	t.Parallel()
	s := mustSecure(t)
	storetest.MustAdd(t, s.events, "a", 1)
	eventually(t, "the copy has it", func() bool { return s.Stats()[0].Lag == 0 })
	nc, refused := s.mustConnectAs(t, domain.Service)
	heard := mustSubscribe(t, nc, "edgex.events.>")
	inbox := nats.NewInbox()
	push := mustSubscribe(t, nc, inbox)
	create := func(config, to string) string {
		const begin = `{"stream_name":"edgex","config":{"deliver_policy":"new","filter_subject":"edgex.events.>",`
		return begin + config + fmt.Sprintf(`,"deliver_subject":%q}}`, to)
	}
	for subject, body := range map[string]string{
		"$JS.API.STREAM.INFO.edgex":                         "",
		"$JS.API.CONSUMER.CREATE.edgex":                     create(`"ack_policy":"none"`, inbox),
		"$JS.API.CONSUMER.CREATE.edgex.mine.edgex.events.>": create(`"name":"mine","ack_policy":"explicit"`, nats.NewInbox()),
	} {
		m, err := nc.Request(subject, []byte(body), deadline)
		if err != nil || strings.Contains(string(m.Data), `"error"`) {
			t.Errorf("%s: %v, %v", subject, m, err)
		}
	}
	m, err := nc.Request("$JS.API.CONSUMER.DELETE.edgex.mine", nil, deadline)
	if err != nil || !strings.Contains(string(m.Data), `"success":true`) {
		t.Errorf("delete: %v, %v", m, err)
	}
	ack, err := nc.Request("edgex.events.device.p.d.s", []byte("x"), deadline)
	if err != nil || strings.Contains(string(ack.Data), `"error"`) {
		t.Errorf("publish: %v, %v", ack, err)
	}
	if err := nc.Publish("edgex.events.device.p.d.s", []byte("y")); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []*nats.Subscription{heard, push} {
		for _, want := range []string{"x", "y"} {
			if m := mustNext(t, sub); string(m.Data) != want {
				t.Errorf("got %s on %s, want %s", m.Data, sub.Subject, want)
			}
		}
	}
	for _, subject := range []string{
		"ledge.event.x.y.added", ingest + "event.x.y.added", "_INBOX.x", "$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES",
		"$JS.API.STREAM.CREATE.edgex", "$JS.API.STREAM.UPDATE.edgex", "$JS.API.STREAM.PURGE.edgex", "$JS.API.STREAM.DELETE.edgex",
		"$JS.API.STREAM.MSG.GET.edgex", "$JS.API.STREAM.MSG.DELETE.edgex", "$JS.API.CONSUMER.LIST.edgex", "$JS.API.CONSUMER.NAMES.edgex",
		"$JS.API.STREAM.INFO.LEDGE_EVENTS", "$JS.API.CONSUMER.CREATE.LEDGE_EVENTS", "$JS.API.CONSUMER.CREATE.LEDGE_EVENTS.x.ledge.>",
		"$JS.API.CONSUMER.MSG.NEXT.edgex.mine", "$SYS.REQ.SERVER.PING", "other",
	} {
		if err := nc.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if err := mustReceive(t, refused); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
			t.Errorf("%s is refused with %v", subject, err)
		}
	}
	for _, subject := range []string{"ledge.>", ">", "$JS.>", "$LEDGE.>", "*.event.>", "$SYS.>"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := mustReceive(t, refused); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
			t.Errorf("%s is refused with %v", subject, err)
		}
	}
}

// TestOtherRolesHaveNoBus holds that no other role can use EdgeX's message bus in secure mode, or hears it.
func TestOtherRolesHaveNoBus(t *testing.T) {
	t.Parallel()
	s := mustSecure(t)
	service, _ := s.mustConnectAs(t, domain.Service)
	for _, role := range []domain.Role{domain.Viewer, domain.Operator, domain.Auditor, domain.Admin} {
		nc, refused := s.mustConnectAs(t, role)
		all := mustSubscribe(t, nc, "_INBOX.>")
		if _, err := nc.SubscribeSync("edgex.>"); err != nil || nc.Publish("edgex.a", nil) != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := mustReceive(t, refused); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "edgex") {
				t.Errorf("%s: refused with %v", role, err)
			}
		}
		if _, err := service.Request("edgex.a", []byte("secret"), deadline); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		if n, _, _ := all.Pending(); n > 0 {
			t.Errorf("%s hears the inboxes of services", role)
		}
		if role.May(domain.MayAudit) {
			m, err := nc.Request("$JS.API.STREAM.INFO.edgex", nil, deadline)
			if err != nil || !strings.Contains(string(m.Data), "stream not found") {
				t.Errorf("%s: %v, %v", role, m, err)
			}
		}
	}
}

// TestServicesCannotStopLedge has a service try to have Ledge miss messages: it hears the inboxes of its account, deletes, creates and
// replaces consumers, and acknowledges messages of others. It never hears the name of Ledge's consumer.
func TestServicesCannotStopLedge(t *testing.T) {
	t.Parallel()
	s := mustSecure(t)
	nc, _ := s.mustConnectAs(t, domain.Service)
	inboxes := mustSubscribe(t, nc, "_INBOX.>")
	taken := make(chan string, 1000)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.EdgeX().Take(ctx, func(_ context.Context, batch []Message) error {
			for _, m := range batch {
				taken <- string(m.Data)
			}
			return nil
		})
	}()
	t.Cleanup(func() { stop(); <-ended })
	for i := range 200 {
		text := fmt.Sprint(i)
		if _, err := nc.Request("edgex.a", []byte(text), deadline); err != nil {
			t.Fatal(err)
		}
		if got := mustReceive(t, taken); got != text {
			t.Fatalf("got %s in place of %s", got, text)
		}
		for _, name := range []string{"ledge", "edgex"} {
			_ = nc.Publish("$JS.API.CONSUMER.DELETE.edgex."+name, nil)
			create := fmt.Appendf(nil, `{"stream_name":"edgex","config":{"name":%q,"ack_policy":"none","filter_subject":"edgex.x"}}`, name)
			_ = nc.Publish("$JS.API.CONSUMER.CREATE.edgex", create)
			_ = nc.Publish(fmt.Sprintf("$JS.ACK.edgex.%s.1.%d.%d.1.0", name, i+1, i+1), []byte("+ACK"))
		}
		for {
			m, err := inboxes.NextMsg(1)
			if err != nil {
				break
			}
			var heard struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(m.Data, &heard) == nil && heard.Name != "" && heard.Name != "ledge" && heard.Name != "edgex" {
				t.Fatalf("it hears of the consumer %s", heard.Name)
			}
		}
	}
}
