package bus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/domain"
	"ledge/store/bus"
)

// taken has the messages that were taken.
type taken struct {
	messages chan bus.Message
	stop     func()
}

// take takes the messages of EdgeX's message bus until stop or the end of the test.
func (n *node) take() *taken {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	a, ended := &taken{messages: make(chan bus.Message, 1000)}, make(chan struct{})
	e := n.bus.EdgeX()
	go func() {
		defer close(ended)
		_ = e.Take(ctx, func(ctx context.Context, batch []bus.Message) error {
			for _, m := range batch {
				select {
				case a.messages <- m:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	}()
	a.stop = func() { cancel(); <-ended }
	n.t.Cleanup(a.stop)
	return a
}

// want holds that the next messages have these texts.
func (a *taken) want(t *testing.T, texts ...string) {
	t.Helper()
	for _, want := range texts {
		m := mustReceive(t, a.messages)
		if string(m.Data) != want {
			t.Fatalf("got %.80q, want %q", m.Data, want)
		}
	}
	select {
	case m := <-a.messages:
		t.Fatalf("got %.80q besides", m.Data)
	default:
	}
}

func mustReceive(t *testing.T, from <-chan bus.Message) bus.Message {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(patience):
		t.Fatalf("no message in %s", patience)
		return bus.Message{}
	}
}

// TestTake publishes as EdgeX's clients do, on the stream and without: all is taken once, in order, through restarts of the bus.
func TestTake(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: mib})
	nc, js := n.connect()
	s, err := js.Stream(t.Context(), "edgex")
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	if c.Discard != jetstream.DiscardNew || c.PersistMode != jetstream.DefaultPersistMode || len(c.Subjects) != 1 {
		t.Errorf("the stream has %+v", c)
	}
	ack, err := js.Publish(t.Context(), "edgex.events.device.p.d.a", []byte("1"))
	if err != nil || ack.Stream != "edgex" || ack.Sequence != 1 {
		t.Fatalf("%+v, %v", ack, err)
	}
	a := n.take()
	a.want(t, "1")
	m := &nats.Msg{Subject: "edgex.telemetry.s.m", Header: nats.Header{"ApiVersion": {"v3"}}, Data: []byte("2")}
	if err := nc.PublishMsg(m); err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	if m := mustReceive(t, a.messages); m.Subject != "edgex.telemetry.s.m" || m.Header["ApiVersion"][0] != "v3" {
		t.Errorf("got %+v", m)
	}
	a.stop()
	if _, err := js.Publish(t.Context(), "edgex.events.device.p.d.a", []byte("3")); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		n.bus.Close()
		n.openBus()
		_, js := n.connect()
		text := fmt.Sprint(round + 4)
		if _, err := js.Publish(t.Context(), "edgex.events.device.p.d.a", []byte(text)); err != nil {
			t.Fatal(err)
		}
		a := n.take()
		if round == 0 {
			a.want(t, "3", text)
		} else {
			a.want(t, text)
		}
		a.stop()
	}
}

// TestTakeAgain holds that a batch is given again after an error, and that it waits meanwhile.
func TestTakeAgain(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: mib})
	_, js := n.connect()
	if _, err := js.Publish(t.Context(), "edgex.a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tries := 0
	err := n.bus.EdgeX().Take(ctx, func(_ context.Context, batch []bus.Message) error {
		if tries++; len(batch) != 1 || string(batch[0].Data) != "x" {
			t.Errorf("try %d has %v", tries, batch)
		}
		if tries == 2 {
			cancel()
			return nil
		}
		return errors.New("not yet")
	})
	if !errors.Is(err, context.Canceled) || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

// TestLostStream has the stream lost between two starts, with the position that was saved, and damaged: messages of the new stream are
// taken from its first one.
func TestLostStream(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: mib})
	dir := filepath.Join(n.o.Dir, "jetstream", "FEED", "streams", "edgex")
	for name, lose := range map[string]func() error{
		"removed": func() error { return os.RemoveAll(dir) },
		"damaged": func() error { return os.WriteFile(filepath.Join(dir, "meta.inf"), nil, 0o600) },
	} {
		_, js := n.connect()
		a := n.take()
		for i := range 3 {
			if _, err := js.Publish(t.Context(), "edgex.a", fmt.Append(nil, name, i)); err != nil {
				t.Fatal(err)
			}
		}
		a.want(t, name+"0", name+"1", name+"2")
		a.stop()
		n.bus.Close()
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		n.openBus()
		_, js = n.connect()
		if ack, err := js.Publish(t.Context(), "edgex.a", []byte("new")); err != nil || ack.Sequence != 1 {
			t.Fatalf("%s: %+v, %v", name, ack, err)
		}
		a = n.take()
		a.want(t, "new")
		a.stop()
	}
	if _, err := os.Stat(filepath.Join(n.o.Dir, "edgex.damaged", "msgs")); err != nil {
		t.Errorf("the files of the damaged stream: %v", err)
	}
}

// TestModeChanges holds that the stream is there with all of its messages if the next start has the other mode.
func TestModeChanges(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: mib})
	_, js := n.connect()
	for i := range 3 {
		if _, err := js.Publish(t.Context(), "edgex.a", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	n.bus.Close()
	n.o.Login = func(context.Context, string, string, string, string) (domain.Identity, error) {
		return domain.Identity{Actor: "user:a", Role: domain.Admin}, nil
	}
	n.openBus()
	a := n.take()
	a.want(t, "0", "1", "2")
	a.stop()
	n.bus.Close()
	n.o.Login = nil
	n.openBus()
	_, js = n.connect()
	ack, err := js.Publish(t.Context(), "edgex.a", []byte("3"))
	if err != nil || ack.Sequence != 4 {
		t.Errorf("%+v, %v", ack, err)
	}
	n.take().want(t, "3")
}

// TestEdgeXRights holds that a client in open mode cannot change the stream.
func TestEdgeXRights(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: mib})
	refused := make(chan error, 100)
	nc, _ := n.connect(nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	for _, subject := range []string{"STREAM.PURGE.edgex", "STREAM.DELETE.edgex", "STREAM.UPDATE.edgex", "STREAM.MSG.DELETE.edgex"} {
		if err := nc.Publish("$JS.API."+subject, []byte("{}")); err != nil || nc.Flush() != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
				t.Errorf("%s: %v", subject, err)
			}
		case <-time.After(patience):
			t.Errorf("%s is not refused", subject)
		}
	}
}

// TestReserveRefusesClients holds that clients are refused while the disk has no more than the reserve of the log, and not afterwards.
func TestReserveRefusesClients(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: mib})
	_, js := n.connect()
	for i, want := range []string{"", "maximum bytes exceeded", ""} {
		n.full.Store(want != "")
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			_, err := js.Publish(t.Context(), "edgex.a", []byte("x"))
			if said := fmt.Sprint(err); (err == nil) == (want == "") && (err == nil || strings.Contains(said, want)) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("step %d: %v", i, err)
			}
		}
	}
}

// TestRepeatedMessages has a client in open mode deliver its own message to a subject of the log: it arrives with its own subject, so
// that nobody takes it for an event.
func TestRepeatedMessages(t *testing.T) {
	t.Parallel()
	n := mustOpen(t, t.TempDir(), bus.Options{MaxBytes: mib})
	other, _ := n.connect()
	heard, err := other.SubscribeSync("ledge.>")
	if err != nil || other.Flush() != nil {
		t.Fatal(err)
	}
	nc, js := n.connect()
	const subject = "ledge.event.device.evil.added"
	if _, err := nc.SubscribeSync(subject); err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	request := fmt.Sprintf(
		`{"stream_name":"edgex","config":{"name":"push","deliver_subject":%q,"ack_policy":"none","deliver_policy":"all"}}`, subject)
	if _, err := nc.Request("$JS.API.CONSUMER.CREATE.edgex.push", []byte(request), patience); err != nil {
		t.Fatal(err)
	}
	header := nats.Header{"Nats-Sequence": {"1"}, "Nats-Stream": {"LEDGE_EVENTS"}}
	forged := &nats.Msg{Subject: "edgex.x", Header: header, Data: []byte("{}")}
	if _, err := js.PublishMsg(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	m, err := heard.NextMsg(patience)
	if err != nil || m.Subject != "edgex.x" {
		t.Errorf("heard %+v, %v", m, err)
	}
}
