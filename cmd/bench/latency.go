package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
)

// frameWait is how long a frame may take; a lost one must not hold the run up.
const frameWait = 5 * time.Second

// patchLatency patches devices one after the other, each client its own, and waits for each change's frame.
func patchLatency(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("latency")
	if err != nil {
		return err
	}
	defer done()
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return err
	}
	defer ledge.stop()
	for _, n := range []int{1, 8} {
		if err := b.latency(ctx, ledge, n); err != nil {
			return err
		}
	}
	if err := b.addSubscriptions(ctx, ledge, b.counts.subscriptions); err != nil {
		return err
	}
	return b.paced(ctx, ledge)
}

// latency adds the rows of n clients, each of which sends its next PATCH when the frame of the one before is there.
func (b *bench) latency(ctx context.Context, ledge *process, n int) error {
	frames, answers, err := b.patches(ctx, ledge, n, 0, false)
	if err != nil {
		return fmt.Errorf("%s: %w", plural(n, "client"), err)
	}
	sealed, _, err := b.patches(ctx, ledge, n, 0, true)
	if err != nil {
		return fmt.Errorf("%s, with CURVE: %w", plural(n, "client"), err)
	}
	b.report.add(frames.alone("PATCH to frame, " + plural(n, "client"))).Target = aFifth(n, frames)
	b.report.add(sealed.alone("PATCH to frame with CURVE, " + plural(n, "client")))
	b.report.add(answers.alone("PATCH to answer, " + plural(n, "client")))
	return nil
}

// edgexLatency is what EdgeX 2.3 takes from a PATCH to a REST subscriber, p50 and p99 in milliseconds, by clients.
var edgexLatency = map[int][2]float64{1: {3.2, 6.2}, 8: {14, 25}}

// aFifth is the target of a fifth of that.
func aFifth(n int, frames results) *target {
	most, got := edgexLatency[n], frames.alone("").Ledge
	p50, p99 := most[0]/5, most[1]/5
	return &target{fmt.Sprintf("< %.2g, %.2g ms", p50, p99), got.P50 < p50 && got.P99 < p99}
}

// pace is how many PATCHes a second are sent to find out whether they are kept up with.
const pace = 1000

// paced sends PATCHes at a fixed pace. Their time counts from when each is due, so that one that holds up the next ones
// counts for all of them.
func (b *bench) paced(ctx context.Context, ledge *process) error {
	frames, _, err := b.patches(ctx, ledge, 8, pace, false)
	if err != nil {
		return fmt.Errorf("%d a second: %w", pace, err)
	}
	row := b.report.add(frames.alone(fmt.Sprintf("PATCH to frame, %d a second, %d subscriptions", pace, b.counts.subscriptions)))
	row.Target = atLeast(0.95*pace, row.Ledge.Value)
	return nil
}

// addSubscriptions adds subscriptions that share a socket and want what nobody sends.
func (b *bench) addSubscriptions(ctx context.Context, ledge *process, count int) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	list, done, err := clients(ctx, ledge.notes, 1)
	if err != nil {
		return err
	}
	defer done()
	const each = 500
	for first := 0; first < count; first += each {
		var body []byte
		for i := first; i < min(first+each, count); i++ {
			body = fmt.Appendf(append(body, ','), `{"apiVersion":"v2","subscription":{"name":"idle-%d","receiver":"bench","adminState":"UNLOCKED",
				"categories":["bench-%d"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t-%d"}]}}`, i, i, port, i)
		}
		body[0] = '['
		answer, err := list[0].call(httpRequest(http.MethodPost, "/api/v2/subscription", append(body, ']')), http.StatusMultiStatus)
		if err != nil {
			return err
		}
		if n := bytes.Count(answer, []byte(`"statusCode":201`)); n != min(each, count-first) {
			return fmt.Errorf("%d subscriptions added: %.300s", n, answer)
		}
	}
	return nil
}

// patches measures some rounds with n clients: the time to each frame and to each answer. A second's PATCHes are as many as
// pace says, or as many as can be. With curve, frames are encrypted.
func (b *bench) patches(ctx context.Context, ledge *process, n, pace int, curve bool) (frames, answers results, err error) {
	sub, err := subscribe(ctx, ledge.notes, n, curve)
	if err != nil {
		return frames, answers, err
	}
	defer sub.close()
	list, done, err := clients(ctx, ledge.metadata, n)
	if err != nil {
		return frames, answers, err
	}
	defer done()
	if _, err := list[0].call(httpRequest(http.MethodPost, devicePath, deviceBody(sub.first, n)), http.StatusMultiStatus); err != nil {
		return frames, answers, err
	}
	if err := sub.join(ctx, list); err != nil {
		return frames, answers, err
	}
	p := &patching{sub: sub, clients: list, frames: make([]time.Duration, n*b.counts.patches/4), answers: make([]time.Duration, n*b.counts.patches/4)}
	for range 4 {
		p.begin(pace)
		m, err := work{workers: n, count: len(p.frames), each: 1, limit: 2 * b.counts.limit, do: p.patch}.run(ctx)
		if err != nil {
			return frames, answers, err
		}
		count := len(m.times)
		frames.rates, answers.rates = append(frames.rates, m.rate), append(answers.rates, m.rate)
		frames.times, answers.times = append(frames.times, p.frames[:count]...), append(answers.times, p.answers[:count]...)
	}
	return frames, answers, sub.unsubscribe(ctx, ledge.notes)
}

// patching is some clients at work. The times are by the number of the call.
type patching struct {
	sub             *subscriber
	clients         []*connection
	frames, answers []time.Duration

	started time.Time
	apart   time.Duration // between two PATCHes that are due; 0 for no pace
}

func (p *patching) begin(pace int) {
	p.started = time.Now()
	if pace > 0 {
		p.apart = time.Second / time.Duration(pace)
	}
}

// due waits until the i-th PATCH is due, and returns when that was.
func (p *patching) due(i int) time.Time {
	if p.apart == 0 {
		return time.Now()
	}
	at := p.started.Add(time.Duration(i) * p.apart)
	if wait := time.Until(at); wait > 0 {
		<-time.After(wait)
	}
	return at
}

// patch changes a client's device and returns when both the answer and the frame are there.
func (p *patching) patch(client, i int) error {
	from := p.due(i)
	request := patchRequest(p.sub.first + client)
	if _, err := p.clients[client].call(request, http.StatusMultiStatus); err != nil {
		return err
	}
	p.answers[i] = time.Since(from)
	select {
	case at := <-p.sub.frames[deviceName(p.sub.first+client)]:
		p.frames[i] = at.Sub(from)
		return nil
	case <-time.After(frameWait):
		return fmt.Errorf("no frame within %v", frameWait)
	}
}

// patchRequest gives a device a description that it did not have.
func patchRequest(n int) []byte {
	return httpRequest(http.MethodPatch, devicePath, fmt.Appendf(nil,
		`[{"apiVersion":"v2","device":{"name":%q,"description":"patched at %d"}}]`, deviceName(n), time.Now().UnixNano()))
}
