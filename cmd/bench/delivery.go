package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// mood is how a receiver behaves.
type mood struct {
	name    string
	answer  func(call int) (int, time.Duration)
	changes int           // of full; a tenth of them with -quick
	within  time.Duration // the target for all of them; 0 for none
	limit   time.Duration
}

// failing answers so many percent of the calls with 500, at random.
func failing(percent int) func(int) (int, time.Duration) {
	random := rand.New(rand.NewPCG(1, uint64(percent)))
	return func(int) (int, time.Duration) {
		if random.IntN(100) < percent {
			return http.StatusInternalServerError, 0
		}
		return http.StatusOK, 0
	}
}

var moods = []mood{
	{"one that works", func(int) (int, time.Duration) { return http.StatusOK, 0 }, 1000, 0, time.Minute},
	{"one that fails one call in three", failing(33), 1000, 5 * time.Second, 2 * time.Minute},
	{"one that fails half of the calls", failing(50), 1000, 15 * time.Second, 5 * time.Minute},
	{"one that fails 7 of 10 calls", failing(70), 1000, time.Minute, 5 * time.Minute},
	{"one that answers after a second", func(int) (int, time.Duration) { return http.StatusOK, time.Second }, 100, 0, time.Minute},
}

// deliverREST measures deliveries to REST receivers: one in a mood, and 100 that work beside one that is dead; and the latency over REST and MQTT.
func deliverREST(ctx context.Context, b *bench) error {
	for _, m := range moods {
		if err := b.toMood(ctx, m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	for _, n := range []int{1, 8} {
		if err := b.restLatency(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", plural(n, "client"), err)
		}
		if err := b.mqttLatency(ctx, n); err != nil {
			return fmt.Errorf("MQTT, %s: %w", plural(n, "client"), err)
		}
	}
	for _, dead := range []bool{false, true} {
		if err := b.besideDead(ctx, dead); err != nil {
			return fmt.Errorf("a dead one beside others: %w", err)
		}
	}
	return nil
}

// toMood adds the row of one receiver: from the first PATCH, each of a device of its own, until the last change is delivered.
func (b *bench) toMood(ctx context.Context, m mood) error {
	r := newReceiver(m.answer)
	defer r.Close()
	list, done, err := b.forDelivery(ctx, restSubscription("bench", r.port()))
	if err != nil {
		return err
	}
	defer done()
	count := m.changes
	if b.counts.patches < full.patches {
		count /= 10
	}
	names, err := addDevices(list[0], count, r)
	if err != nil {
		return err
	}
	r.expect(names)
	from := time.Now()
	if err := patchEach(list[0], count); err != nil {
		return err
	}
	times, err := r.wait(ctx, m.limit)
	if err != nil {
		return err
	}
	took := time.Since(from)
	row := b.report.add(results{rates: []float64{float64(count) / took.Seconds()}, times: since(from, times)}.alone("deliveries to " + m.name))
	if m.within > 0 {
		row.Target = &target{fmt.Sprintf("%d within %v", m.changes, m.within), took < m.within}
	}
	return nil
}

// receiverTarget is the median that a REST or MQTT receiver should hear after, in milliseconds, by clients.
var receiverTarget = map[int]float64{1: 3, 8: 6}

// hearing is a receiver of the changes of some devices.
type hearing struct{ *subscriber }

func newHearing(devices int) hearing {
	h := hearing{&subscriber{frames: map[string]chan time.Time{}}}
	for i := range devices {
		h.frames[deviceName(i)] = make(chan time.Time, 1)
	}
	return h
}

func (h hearing) take(body []byte) {
	at := time.Now()
	var change struct{ DeviceName string }
	if json.Unmarshal(body, &change) == nil {
		select {
		case h.frames[change.DeviceName] <- at:
		default:
		}
	}
}

// restLatency adds the row of n clients, each of which sends its next PATCH when a REST receiver has heard of the one before.
func (b *bench) restLatency(ctx context.Context, n int) error {
	heard := newHearing(n)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if body, err := io.ReadAll(q.Body); err == nil {
			heard.take(body)
		}
	}))
	defer s.Close()
	return b.receiverLatency(ctx, n, "REST", heard, restSubscription("bench", (&receiver{Server: s}).port()))
}

func (b *bench) receiverLatency(ctx context.Context, n int, kind string, heard hearing, subscription string) error {
	list, done, err := b.forDelivery(ctx, subscription)
	if err != nil {
		return err
	}
	defer done()
	if _, err := list[0].call(httpRequest(http.MethodPost, devicePath, deviceBody(0, n)), http.StatusMultiStatus); err != nil {
		return err
	}
	heard.drain()
	p := &patching{sub: heard.subscriber, clients: list[:n], frames: make([]time.Duration, n*b.counts.patches/4), answers: make([]time.Duration, n*b.counts.patches/4)}
	m, err := work{workers: n, count: len(p.frames), each: 1, limit: 2 * b.counts.limit, do: p.patch}.run(ctx)
	if err != nil {
		return err
	}
	row := b.report.add(results{rates: []float64{m.rate}, times: p.frames[:len(m.times)]}.alone("PATCH to " + kind + " receiver, " + plural(n, "client")))
	row.Target = below(receiverTarget[n], "ms p50", row.Ledge.P50)
	return nil
}

// besideDead adds the row of 100 receivers that work, with or without one where nobody listens.
func (b *bench) besideDead(ctx context.Context, dead bool) error {
	const many = 100
	subscriptions := make([]string, many)
	receivers := make([]*receiver, many)
	for i := range receivers {
		receivers[i] = newReceiver(moods[0].answer)
		defer receivers[i].Close()
		subscriptions[i] = restSubscription(fmt.Sprint("healthy-", i), receivers[i].port())
	}
	name := "100 that work: from PATCH to delivery"
	if dead {
		port, err := freePort()
		if err != nil {
			return err
		}
		subscriptions = append(subscriptions, restSubscription("dead", port))
		name = "100 that work beside a dead one: from PATCH to delivery"
	}
	list, done, err := b.forDelivery(ctx, strings.Join(subscriptions, ","))
	if err != nil {
		return err
	}
	defer done()
	count := max(4, b.counts.patches/100)
	names, err := addDevices(list[0], count, receivers...)
	if err != nil {
		return err
	}
	var got results
	began := time.Now()
	for i, changed := range names {
		for _, r := range receivers {
			r.expect([]string{changed})
		}
		from := time.Now()
		if _, err := list[0].call(patchRequest(i), http.StatusMultiStatus); err != nil {
			return err
		}
		for _, r := range receivers {
			times, err := r.wait(ctx, time.Minute)
			if err != nil {
				return err
			}
			got.times = append(got.times, since(from, times)...)
		}
	}
	got.rates = []float64{float64(len(got.times)) / time.Since(began).Seconds()}
	b.report.add(got.alone(name))
	return nil
}

// forDelivery starts Ledge with some subscriptions.
func (b *bench) forDelivery(ctx context.Context, subscriptions string) (list []*connection, done func(), err error) {
	dir, remove, err := b.folder("delivery")
	if err != nil {
		return nil, nil, err
	}
	done = remove
	defer func() {
		if err != nil {
			done()
		}
	}()
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	done = func() { ledge.stop(); remove() }
	notes, leave, err := clients(ctx, ledge.notes, 1)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if _, err = notes[0].call(httpRequest(http.MethodPost, "/api/v2/subscription", []byte("["+subscriptions+"]")), http.StatusMultiStatus); err != nil {
		return nil, nil, err
	}
	list, end, err := clients(ctx, ledge.metadata, 8)
	if err != nil {
		return nil, nil, err
	}
	stop := done
	done = func() { end(); stop() }
	return list, done, nil
}

// addDevices adds devices and waits until all receivers have been told.
func addDevices(c *connection, count int, receivers ...*receiver) (names []string, err error) {
	for i := range count {
		names = append(names, deviceName(i))
	}
	for _, r := range receivers {
		r.expect(names)
	}
	const each = 100
	for first := 0; first < count; first += each {
		if _, err := c.call(httpRequest(http.MethodPost, devicePath, deviceBody(first, min(each, count-first))), http.StatusMultiStatus); err != nil {
			return nil, err
		}
	}
	for _, r := range receivers {
		if _, err := r.wait(context.Background(), 5*time.Minute); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// patchEach changes each of some devices once.
func patchEach(c *connection, count int) error {
	for i := range count {
		if _, err := c.call(patchRequest(i), http.StatusMultiStatus); err != nil {
			return err
		}
	}
	return nil
}

// since are the times that have passed.
func since(from time.Time, at map[string]time.Time) (list []time.Duration) {
	for _, t := range at {
		list = append(list, t.Sub(from))
	}
	return list
}
