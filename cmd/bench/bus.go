package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// followBus measures the time until a JetStream consumer has a change, and how fast a consumer catches up.
func followBus(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("bus")
	if err != nil {
		return err
	}
	defer done()
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return err
	}
	defer ledge.stop()
	nc, err := nats.Connect(ledge.nats)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	list, closeAll, err := clients(ctx, ledge.metadata, 1)
	if err != nil {
		return err
	}
	defer closeAll()
	count := 20 * b.counts.patches
	if err := b.catchUp(ctx, list[0], js, count); err != nil {
		return fmt.Errorf("catch-up: %w", err)
	}
	return b.patchToConsumer(ctx, list[0], js)
}

// catchUp adds devices, and then has a consumer read all events.
func (b *bench) catchUp(ctx context.Context, c *connection, js jetstream.JetStream, count int) error {
	const each = 1000
	for first := 0; first < count; first += each {
		request := httpRequest(http.MethodPost, devicePath, deviceBody(first, min(each, count-first)))
		if _, err := c.call(request, http.StatusMultiStatus); err != nil {
			return err
		}
	}
	from, last := time.Now(), uint64(0)
	for last < uint64(count) { // the events of the samples come before
		s, err := js.Stream(ctx, "LEDGE_EVENTS")
		if err != nil {
			return err
		}
		last = s.CachedInfo().State.LastSeq
	}
	rate := float64(count) / time.Since(from).Seconds()
	b.report.add(results{rates: []float64{rate}}.alone(fmt.Sprintf("until the copy has %d devices", count)))
	messages, stop, err := consume(ctx, js)
	if err != nil {
		return err
	}
	defer stop()
	from = time.Now()
	for seq := uint64(0); seq < last; {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		seq = meta.Sequence.Stream
	}
	b.report.add(results{rates: []float64{float64(count) / time.Since(from).Seconds()}}.alone("events that a consumer catches up with"))
	return nil
}

// consume returns the messages of the changes of devices, from the first on.
func consume(ctx context.Context, js jetstream.JetStream) (jetstream.MessagesContext, func(), error) {
	c, err := js.OrderedConsumer(ctx, "LEDGE_EVENTS", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"ledge.event.device.>"}})
	if err != nil {
		return nil, nil, err
	}
	messages, err := c.Messages(jetstream.PullMaxBytes(2 << 20))
	if err != nil {
		return nil, nil, err
	}
	return messages, messages.Stop, nil
}

// patchToConsumer patches one device after another, and waits each time until a consumer has the change.
func (b *bench) patchToConsumer(ctx context.Context, c *connection, js jetstream.JetStream) error {
	s, err := js.Stream(ctx, "LEDGE_EVENTS")
	if err != nil {
		return err
	}
	live, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
	if err != nil {
		return err
	}
	messages, err := live.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	var times []time.Duration
	begun := time.Now()
	for range b.counts.patches {
		from := time.Now()
		if _, err := c.call(patchRequest(0), http.StatusMultiStatus); err != nil {
			return err
		}
		if _, err := messages.Next(); err != nil {
			return err
		}
		times = append(times, time.Since(from))
	}
	rate := float64(len(times)) / time.Since(begun).Seconds()
	b.report.add(results{rates: []float64{rate}, times: times}.alone("PATCH to JetStream consumer, 1 client"))
	return nil
}
