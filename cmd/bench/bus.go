package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
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

// edgexBus compares the bus that EdgeX services publish on with the same stream of a NATS server alone. An event has arrived at Ledge when
// core-data has recorded it and a NATS client hears of that, and at the bare server when a NATS client hears the message.
func edgexBus(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("edgex")
	if err != nil {
		return err
	}
	defer done()
	ledge, err := b.startLedge(ctx, dir, "--edgex-bus", "mqtt:0")
	if err != nil {
		return err
	}
	defer ledge.stop()
	bare, err := startAs(ctx, bareNATSFlag, dir)
	if err != nil {
		return err
	}
	defer bare.stop()
	var sides [2]*busSide
	for i, at := range []*process{ledge, bare} {
		if sides[i], err = b.openBusSide(at, []string{"ledge.reading.bench.>", eventSubject + ">"}[i]); err != nil {
			return err
		}
		defer sides[i].nc.Close()
	}
	for _, r := range []struct {
		name    string
		publish func(*busSide, context.Context) (measured, error)
	}{
		{"events, JetStream", (*busSide).publishAsync}, {"events, core", (*busSide).publishCore},
		{"event to NATS client, 1 at a time", (*busSide).publishEach},
	} {
		of := func(s *busSide) side {
			return func(ctx context.Context, _ int) (measured, error) { return r.publish(s, ctx) }
		}
		rows, err := compare(ctx, b.counts.rounds, of(sides[0]), of(sides[1]))
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		b.report.add(rows[0].against(rows[1], r.name))
	}
	if err := edgexMQTT(ctx, sides[0]); err != nil {
		return err
	}
	sides[0].nc.Close() // it would not read further messages
	return b.postEvents(ctx, ledge)
}

// eventSubject begins the subjects of events of device services.
const eventSubject = "edgex.events.device."

// busSide is a client of one of the servers.
type busSide struct {
	*bench
	at    *process
	nc    *nats.Conn
	js    jetstream.JetStream
	mqtt  paho.Client
	heard chan *nats.Msg
}

func (b *bench) openBusSide(at *process, hears string) (s *busSide, err error) {
	s = &busSide{bench: b, at: at, heard: make(chan *nats.Msg, 2*b.counts.requests)}
	if s.nc, err = nats.Connect(at.nats); err != nil {
		return nil, err
	}
	if s.js, err = jetstream.New(s.nc); err == nil {
		_, err = s.nc.ChanSubscribe(hears, s.heard)
	}
	if err == nil {
		err = s.nc.Flush()
	}
	if err != nil {
		s.nc.Close()
	}
	return s, err
}

// awaitEvents waits for the next messages.
func (s *busSide) awaitEvents(ctx context.Context, n int) error {
	for i := range n {
		select {
		case <-s.heard:
		case <-time.After(frameWait):
			return fmt.Errorf("%d of %d events have arrived, and no further one within %v", i, n, frameWait)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// publishAll publishes events, and returns when all have arrived.
func (s *busSide) publishAll(ctx context.Context, publish func([]*nats.Msg) error) (m measured, err error) {
	m.done = s.counts.requests
	messages := make([]*nats.Msg, m.done)
	for i := range messages {
		messages[i] = eventMessage(i)
	}
	before, from := s.at.cpu(), time.Now()
	if err = publish(messages); err == nil {
		err = s.awaitEvents(ctx, len(messages))
	}
	m.rate, m.cpu = float64(m.done)/time.Since(from).Seconds(), s.at.cpu()-before
	return m, err
}

// publishAsync publishes as EdgeX's clients do in JetStream mode, but with many events under way. It waits for the acknowledgements
// at the end.
func (s *busSide) publishAsync(ctx context.Context) (measured, error) {
	return s.publishAll(ctx, func(messages []*nats.Msg) error {
		for _, m := range messages {
			if _, err := s.js.PublishMsgAsync(m); err != nil {
				return err
			}
		}
		select {
		case <-s.js.PublishAsyncComplete():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// publishCore publishes as EdgeX's clients do in core mode.
func (s *busSide) publishCore(ctx context.Context) (measured, error) {
	return s.publishAll(ctx, func(messages []*nats.Msg) error {
		for _, m := range messages {
			if err := s.nc.PublishMsg(m); err != nil {
				return err
			}
		}
		return nil
	})
}

// publishEach publishes one event after the other, when the one before has arrived.
func (s *busSide) publishEach(ctx context.Context) (measured, error) {
	before := s.at.cpu()
	m, err := work{workers: 1, count: s.counts.patches, each: 1, limit: s.counts.limit, do: func(_, i int) error {
		if err := s.nc.PublishMsg(eventMessage(i)); err != nil {
			return err
		}
		return s.awaitEvents(ctx, 1)
	}}.run(ctx)
	m.cpu = s.at.cpu() - before
	return m, err
}

// publishMQTT publishes with QoS 1 and many events under way, and waits for the acknowledgements at the end.
func (s *busSide) publishMQTT(ctx context.Context) (measured, error) {
	return s.publishAll(ctx, func(messages []*nats.Msg) error {
		var waiting []paho.Token
		for _, m := range messages {
			text := fmt.Appendf(nil, `{"apiVersion":"v2","correlationID":%q,"payload":%q,"contentType":"application/json"}`,
				m.Header.Get("X-Correlation-ID"), base64.StdEncoding.EncodeToString(m.Data))
			waiting = append(waiting, s.mqtt.Publish(strings.ReplaceAll(m.Subject, ".", "/"), 1, false, text))
		}
		for _, t := range waiting {
			if !t.WaitTimeout(frameWait) || t.Error() != nil {
				return fmt.Errorf("not acknowledged within %v: %w", frameWait, t.Error())
			}
		}
		return nil
	})
}

// eventMessage is an event of one of 100 devices, as EdgeX 2.3 publishes it in the format nats.
func eventMessage(i int) *nats.Msg {
	return &nats.Msg{
		Subject: fmt.Sprintf("%sbench.bench-%d.hum", eventSubject, i%100), Data: eventBody(i),
		Header: nats.Header{
			"ApiVersion": {"v2"}, "Content-Type": {"application/json"}, "ErrorCode": {"0"}, "RequestId": {""},
			"X-Correlation-ID": {uuid.NewString()},
		},
	}
}

// eventBody is an AddEventRequest of a new event.
func eventBody(i int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"bench-%[2]d","profileName":"bench",`+
		`"sourceName":"hum","origin":%[3]d,"readings":[{"id":%[4]q,"origin":%[3]d,"deviceName":"bench-%[2]d","resourceName":"hum",`+
		`"profileName":"bench","valueType":"Int64","value":"%[2]d"}]}}`, uuid.NewString(), i%100, time.Now().UnixNano(), uuid.NewString())
}

// postEvents adds the row of the same events over HTTP.
func (b *bench) postEvents(ctx context.Context, ledge *process) error {
	const posters = 8
	list, done, err := clients(ctx, ledge.data, posters)
	if err != nil {
		return err
	}
	defer done()
	rows, err := compare(ctx, b.counts.rounds, func(ctx context.Context, _ int) (measured, error) {
		before := ledge.cpu()
		w := work{workers: posters, count: b.counts.requests, each: 1, limit: b.counts.limit}
		w.do = func(worker, i int) error {
			path := fmt.Sprintf("%s/bench/bench-%d/hum", eventPath, i%100)
			_, err := list[worker].call(httpRequest(http.MethodPost, path, eventBody(i)), http.StatusCreated)
			return err
		}
		m, err := w.run(ctx)
		m.cpu = ledge.cpu() - before
		return m, err
	})
	if err != nil {
		return err
	}
	b.report.add(rows[0].alone("events, POST, " + plural(posters, "client")))
	return nil
}

// bareNATSFlag has this program be a NATS server alone; it is not for people.
const bareNATSFlag = "-bare-nats"

// serveBareNATS serves NATS with a stream of EdgeX's bus in a folder until its standard input ends.
func serveBareNATS(path string) error {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: path,
	})
	if err != nil {
		return err
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(frameWait) {
		return fmt.Errorf("no connections within %v", frameWait)
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err == nil {
		stream := jetstream.StreamConfig{Name: "edgex", Subjects: []string{"edgex.>"}, Storage: jetstream.FileStorage}
		_, err = js.CreateStream(context.Background(), stream)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "{\"msg\":\"ready\",\"nats\":%q}\n", s.ClientURL())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
