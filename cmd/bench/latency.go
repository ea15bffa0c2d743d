package main

import (
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
		frames, answers, err := b.patches(ctx, ledge, n)
		if err != nil {
			return fmt.Errorf("%s: %w", plural(n, "client"), err)
		}
		row := b.report.add(frames.alone("PATCH to frame, " + plural(n, "client")))
		if n == 1 {
			row.Target = below(1, "ms p50", row.Ledge.P50)
		}
		b.report.add(answers.alone("PATCH to answer, " + plural(n, "client")))
	}
	return nil
}

// patches measures some rounds with n clients: the time to each frame and to each answer.
func (b *bench) patches(ctx context.Context, ledge *process, n int) (frames, answers results, err error) {
	sub, err := subscribe(ctx, ledge.notes, n)
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
	p := &patching{sub, list, make([]time.Duration, n*b.counts.patches/4), make([]time.Duration, n*b.counts.patches/4)}
	for range 4 {
		m, err := work{workers: n, count: len(p.frames), each: 1, limit: 2 * b.counts.limit, do: p.patch}.run(ctx)
		if err != nil {
			return frames, answers, err
		}
		count := len(m.times)
		frames.rates, answers.rates = append(frames.rates, m.rate), append(answers.rates, m.rate)
		frames.times, answers.times = append(frames.times, p.frames[:count]...), append(answers.times, p.answers[:count]...)
	}
	return frames, answers, nil
}

// patching is some clients at work. The times are by the number of the call.
type patching struct {
	sub             *subscriber
	clients         []*connection
	frames, answers []time.Duration
}

// patch changes a client's device and returns when both the answer and the frame are there.
func (p *patching) patch(client, i int) error {
	request := patchRequest(p.sub.first + client)
	from := time.Now()
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
