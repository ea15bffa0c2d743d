package bus

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/cmd/ledgetest"
)

const streams = "LEDGE_EVENTS LEDGE_NOTIFICATIONS LEDGE_READINGS edgex"

// mustAdd adds n devices, in one event each.
func mustAdd(t *testing.T, p *ledgetest.Node, prefix string, n int) {
	t.Helper()
	a := p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", ledgetest.Ordinary(prefix, n))
	ledgetest.AllAre(t, ledgetest.ItemsOf(t, a, n), http.StatusCreated)
}

// TestGoClient reads with nats.go: core subscriptions, streams, pull and ordered consumers, and direct gets.
func TestGoClient(t *testing.T) {
	t.Parallel()
	p := ledgetest.StartSeed(t)
	nc, js := ledgetest.MustJetStream(t, p.NATS)
	live, err := nc.SubscribeSync("ledge.event.device.>")
	if err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	mustAdd(t, p, "cam", 10)
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	defer cancel()
	var names []string
	list := js.StreamNames(ctx)
	for name := range list.Name() {
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != streams || list.Err() != nil {
		t.Errorf("stream names %s, %v", got, list.Err())
	}
	for range 10 {
		m, err := live.NextMsg(ledgetest.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Nats-Sequence") == "" || m.Header.Get("Nats-Stream") != "LEDGE_EVENTS" || m.Header.Get("Ledge-Chain") == "" {
			t.Errorf("live message with headers %v", m.Header)
		}
	}
	s, err := js.Stream(ctx, "LEDGE_EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	last := s.CachedInfo().State.LastSeq
	c, err := s.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: "audit", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.Fetch(int(last), jetstream.FetchMaxWait(ledgetest.Timeout))
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(0)
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		if next++; meta.Sequence.Stream != next {
			t.Errorf("sequence %d, want %d", meta.Sequence.Stream, next)
		}
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if next != last || batch.Error() != nil {
		t.Errorf("fetched up to %d of %d, %v", next, last, batch.Error())
	}
	ordered, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"ledge.event.device.*.added"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := ordered.Next(jetstream.FetchMaxWait(ledgetest.Timeout)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.GetLastMsgForSubject(ctx, "ledge.event.device.cam-9.added")
	if err != nil || !strings.Contains(string(got.Data), "cam-9") {
		t.Errorf("last message: %v", err)
	}
	if m, err := s.GetMsg(ctx, 1); err != nil || m.Sequence != 1 {
		t.Errorf("first message: %v", err)
	}
}

// TestStreamsCannotBeChanged has a client try to create, change, purge and delete streams, to delete a message, and to publish events.
// Each is refused with words that name the subject, and the stream is as it was.
func TestStreamsCannotBeChanged(t *testing.T) {
	t.Parallel()
	p := ledgetest.StartSeed(t)
	refused := make(chan error, 100)
	nc, js := ledgetest.MustJetStream(t, p.NATS, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	defer cancel()
	s, err := js.Stream(ctx, "LEDGE_EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	before := s.CachedInfo()
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	smaller := before.Config
	smaller.MaxBytes = 1000
	for name, try := range map[string]func() error{
		"STREAM.CREATE.MINE": func() error {
			_, err := js.CreateStream(short(), jetstream.StreamConfig{Name: "MINE", Subjects: []string{"mine"}})
			return err
		},
		"STREAM.UPDATE.LEDGE_EVENTS": func() error { _, err := js.UpdateStream(short(), smaller); return err },
		"STREAM.PURGE.LEDGE_EVENTS":  func() error { return s.Purge(short()) },
		"STREAM.DELETE.LEDGE_EVENTS": func() error { return js.DeleteStream(short(), "LEDGE_EVENTS") },
		"STREAM.MSG.DELETE":          func() error { return s.DeleteMsg(short(), 1) },
		"ledge.event.device.x.added": func() error { return nc.Publish("ledge.event.device.x.added", []byte("{}")) },
		"$LEDGE.feed.event.device.x": func() error { return nc.Publish("$LEDGE.feed.event.device.x", []byte("{}")) },
		"_INBOX.x":                   func() error { return nc.Publish("_INBOX.x", []byte("{}")) },
	} {
		err := try()
		if err == nil {
			err = nc.Flush()
		} else if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			err = <-refused
		}
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: refused with %v", name, err)
		}
	}
	after, err := s.Info(ctx)
	if err != nil || after.State.Msgs != before.State.Msgs {
		t.Errorf("the stream has changed: %+v, %v", after, err)
	}
}
