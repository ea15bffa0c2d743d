package delivery

import (
	"context"
	"time"
)

// step is what a worker does next.
type step int

const (
	wait step = iota // until something changes, or some time has passed
	load             // what is on record and not known
	send
	miss // record a failed try, because it is due during a pause
	rest // there is nothing to do, and the worker ends
)

// serve is the worker of a target. It ends when nothing waits for the target.
func (d *Delivery) serve(t *target) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for d.ctx.Err() == nil {
		it, next, after := d.next(t)
		switch next {
		case rest:
			return nil
		case load:
			if err := d.load(t); err != nil {
				return err
			}
		case wait:
			timer.Reset(after)
			select {
			case <-timer.C:
			case <-t.changed:
			case <-d.ctx.Done():
			}
		case send:
			d.begin(t, it)
		case miss:
			d.miss(t, it)
		}
	}
	return nil
}

// idle is how long a worker waits for a change at the most, and lowWater the part of the queue below which it loads.
const (
	idle     = time.Minute
	lowWater = 2
)

// next decides what a worker does, and takes what it sends.
func (d *Delivery) next(t *target) (it *item, next step, after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	switch {
	case t.more && len(t.known) <= d.Queue/lowWater:
		t.more, t.loading = false, true
		return nil, load, 0
	case len(t.known) == 0 && t.busy == 0:
		d.forget(t)
		t.running = false
		return nil, rest, 0
	case t.server.gate.paused():
		return t.paused(&t.server.gate, now)
	case t.gate.paused():
		return t.paused(&t.gate, now)
	}
	if it = t.due(now); it == nil {
		t.server.leave(t)
		return nil, wait, t.until(now, idle)
	}
	if !t.server.place(t) {
		return nil, wait, idle
	}
	t.server.busy++
	t.busy++
	return t.take(&t.ready), send, 0
}

// until is the time until the next item, and at most longest.
func (t *target) until(now time.Time, longest time.Duration) time.Duration {
	if t.later.empty() {
		return longest
	}
	return max(0, min(longest, t.later.first().at.Sub(now)))
}

// paused decides what is done during the pause of a server or of a target. When it is over, the first item is the probe, even if its time
// has not come. Until a probe succeeds, tries that are due fail. The last try of a transmission is a probe too, so that none is given up
// unheard; it fails as the others if the probe under way takes long.
func (t *target) paused(g *gate, now time.Time) (it *item, next step, after time.Duration) {
	t.server.leave(t)
	q, over := &t.ready, !now.Before(g.until)
	for it = t.due(now); it != nil && it.due.After(now) && (!over || g.probing); it = t.due(now) {
		it = t.take(q)
		it.at = it.due
		t.put(it)
	}
	if it == nil && over && !g.probing {
		q = &t.later
		it = t.top(q)
	}
	switch {
	case it == nil:
		after = t.until(now, idle)
	case !g.probing && (over || it.last()):
		g.probe(now)
		it = t.take(q)
		it.probe = true
		t.busy++
		return it, send, 0
	case !it.last() || it.limit > 0 && now.Sub(g.probed) >= firstPause:
		return t.take(q), miss, 0
	default:
		after = max(time.Millisecond, firstPause-now.Sub(g.probed))
	}
	if !g.probing && !over {
		after = min(after, g.until.Sub(now))
	}
	return nil, wait, after
}

// begin sends in a goroutine, when its turn comes among all endpoints. A worker waits for that, so that what waits is one send of each
// target. It does not wait for a probe: what is due meanwhile fails in time.
func (d *Delivery) begin(t *target, it *item) {
	d.mu.Lock()
	failed, probe := t.server.gate.fails > 0, it.probe
	d.mu.Unlock()
	if probe {
		d.sending.Go(func() {
			if turn, ok := d.turns.Take(d.ctx, t.name, t.server.host, failed); ok {
				d.try(t, it, turn)
			}
		})
		return
	}
	if turn, ok := d.turns.Take(d.ctx, t.name, t.server.host, failed); ok {
		d.sending.Go(func() { d.try(t, it, turn) })
	}
}

// sendContext is that of one try: it outlives the end of the work by a moment.
func (d *Delivery) sendContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), d.Timeout)
	stop := context.AfterFunc(d.ctx, func() { time.AfterFunc(lastSends, cancel) })
	return ctx, func() { stop(); cancel() }
}
