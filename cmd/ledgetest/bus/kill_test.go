package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// follower is a durable consumer that connects again by itself and takes the events in their order. After a restart the server first sends
// new messages. Messages that a kill lost on their way follow when their time for an acknowledgement is over. So the follower acknowledges each
// message alone, and none before its turn. An acknowledgement of all up to a message would acknowledge the lost ones too.
type follower struct {
	t    *testing.T
	next uint64 // the first sequence that it has not got yet
}

// follow consumes a stream up to a sequence, through all ends of the server. Events may come more than once.
func (f *follower) follow(ctx context.Context, js jetstream.JetStream, upTo func() uint64) error {
	for f.next <= upTo() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.consume(ctx, js, upTo); err != nil && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond) // the server is away
		}
	}
	return nil
}

func (f *follower) consume(ctx context.Context, js jetstream.JetStream, upTo func() uint64) error {
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	durable := jetstream.ConsumerConfig{Durable: "audit", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second}
	c, err := js.CreateOrUpdateConsumer(short, "LEDGE_EVENTS", durable)
	if err != nil {
		return err
	}
	for f.next <= upTo() && ctx.Err() == nil {
		batch, err := c.Fetch(1000, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			return err
		}
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			seq := meta.Sequence.Stream
			if seq > f.next {
				continue // it comes again after AckWait
			}
			if seq == f.next {
				f.next++
			}
			_ = m.Ack()
		}
		if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) {
			return err
		}
	}
	return nil
}

// TestConsumerMissesNothing kills Ledge eight times while devices are added and a durable consumer follows: it gets each sequence, in order,
// and the copy is equal to the log.
func TestConsumerMissesNothing(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), strconv.Itoa(porttest.Hold(t))
	const kills, batches, batch = 8, 48, 1000
	p := ledgetest.Start(t, dir, "--nats-port", port)
	_, js := ledgetest.MustJetStream(t, p.NATS, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 3*ledgetest.Timeout)
	defer cancel()
	f, done := &follower{t: t, next: 1}, make(chan struct{})
	end := func() uint64 {
		select {
		case <-done:
			return lastOf(js)
		default:
			return 1 << 62
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- f.follow(ctx, js, end) }()
	for n := range batches {
		_, _ = ledgetest.TryCall("POST", p.Metadata+"/api/v2/device", "application/json", ledgetest.Ordinary(fmt.Sprint("cam-", n), batch))
		if n%(batches/kills) == 2 {
			p.Kill()
			p = ledgetest.Start(t, dir, "--nats-port", port)
		}
	}
	mustAdd(t, p, "last", 1)
	close(done)
	if err := <-ended; err != nil {
		t.Fatalf("at %d: %v", f.next, err)
	}
	if err := ledgetest.CompareBus(p); err != nil || f.next < kills*batch {
		t.Errorf("%d events; %v", f.next-1, err)
	}
}

// lastOf returns the last sequence of the events; 1<<62 while the server does not say.
func lastOf(js jetstream.JetStream) uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), ledgetest.Timeout)
	defer cancel()
	s, err := js.Stream(ctx, "LEDGE_EVENTS")
	if err != nil {
		return 1 << 62
	}
	return s.CachedInfo().State.LastSeq
}
