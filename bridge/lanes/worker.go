package lanes

import (
	"cmp"
	"context"
	"errors"
	"time"

	"ledge/bridge/limiter"
	"ledge/bridge/outward"
	"ledge/domain"
)

// step is what a worker does next.
type step int

const (
	wait  step = iota // until something changes, or some time has passed
	load              // items that are on record and not known
	send              // an item
	probe             // send an item during a pause
	miss              // record a failed try, because an item is due during a pause
	end               // the worker, because nothing waits
)

// serve is the worker of a target. It ends when nothing waits for the target.
func (l *Lanes) serve(t *target) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for l.ctx.Err() == nil {
		it, next, after := l.next(t)
		switch next {
		case end:
			return nil
		case load:
			if err := l.load(t); err != nil {
				return err
			}
		case wait:
			timer.Reset(after)
			select {
			case <-timer.C:
			case <-t.changed:
			case <-l.ctx.Done():
			}
		case send, probe:
			l.begin(t, it, next == probe)
		case miss:
			l.miss(t, it)
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
func (l *Lanes) next(t *target) (it *item, next step, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	switch {
	case t.more && len(t.known) <= l.most(t)/lowWater:
		t.more, t.loading = false, true
		return nil, load, 0
	case len(t.known) == 0 && t.busy == 0:
		l.forget(t)
		t.running = false
		return nil, end, 0
	case t.server.breaker.paused():
		return t.paused(&t.server.breaker, now)
	case t.breaker.paused():
		return t.paused(&t.breaker, now)
	}
	if it = t.due(now); it == nil {
		t.server.leave(t)
		return nil, wait, t.untilNext(now)
	}
	if !t.server.admits(t) {
		return nil, wait, idle
	}
	t.server.busy++
	t.busy++
	return t.ready.take(), send, 0
}

// untilNext is the time until the next item, and at most idle.
func (t *target) untilNext(now time.Time) time.Duration {
	if t.later.empty() {
		return idle
	}
	return max(0, min(idle, t.later.first().at.Sub(now)))
}

// paused decides what is done during the pause of a server or of a target. When it is over, the first item is the probe, even if its time
// has not come. Until a probe succeeds, tries that are due fail. The last try of an item is a probe too, so that no item is given up
// without a real try. It fails as the others do if the probe under way takes long.
func (t *target) paused(b *breaker, now time.Time) (it *item, next step, after time.Duration) {
	t.server.leave(t)
	q, over := &t.ready, !now.Before(b.until)
	for it = t.due(now); it != nil && it.Due.After(now) && (!over || b.probing); it = t.due(now) {
		it = q.take()
		it.at = it.Due
		t.put(it)
	}
	if it == nil && over && !b.probing {
		q = &t.later
		it = t.top(q)
	}
	switch {
	case it == nil:
		after = t.untilNext(now)
	case !b.probing && (over || it.last()):
		b.probe(now)
		t.busy++
		return q.take(), probe, 0
	case !it.last() || it.Limit > 0 && now.Sub(b.probed) >= firstPause:
		return q.take(), miss, 0
	default:
		after = max(time.Millisecond, firstPause-now.Sub(b.probed))
	}
	if !b.probing && !over {
		after = min(after, b.until.Sub(now))
	}
	return nil, wait, after
}

// begin sends in a goroutine when the limiter has a slot. A worker waits for that, so that one send of each target waits. It does not wait
// for a probe: what is due meanwhile fails in time.
func (l *Lanes) begin(t *target, it *item, isProbe bool) {
	l.mu.Lock()
	failed, host := t.server.breaker.fails > 0, t.server.host
	l.mu.Unlock()
	if isProbe {
		l.sends.Go(func() {
			if slot, ok := l.limiter.Acquire(l.ctx, t.Target, host, failed); ok {
				l.try(t, it, slot, true)
			}
		})
		return
	}
	if slot, ok := l.limiter.Acquire(l.ctx, t.Target, host, failed); ok {
		l.sends.Go(func() { l.try(t, it, slot, false) })
	}
}

// open returns the next try of an item; false if the item is gone.
func (l *Lanes) open(it *item) (Attempt, bool) {
	l.mu.Lock()
	next := it.Item
	l.mu.Unlock()
	return l.Open(next)
}

// try makes one try of an item, and has its outcome recorded.
func (l *Lanes) try(t *target, it *item, slot *limiter.Slot, isProbe bool) {
	defer slot.Release()
	attempt, ok := l.open(it)
	if !ok {
		l.unsent(t, it, isProbe, true)
		return
	}
	ctx, cancel := l.sendContext()
	defer cancel()
	slot.MayCancel(cancel)
	early := l.Now().Before(it.Due)
	err := attempt.Send(ctx)
	if err != nil && l.ctx.Err() != nil && ctx.Err() == context.Canceled {
		return // cut off by Close: it is not a fault of the receiver, and is tried again at the next start
	}
	if cancelled := slot.Answered(); cancelled && err != nil {
		l.Logger.Debug("send to a slow receiver put off, because others need its place", "endpoint", domain.ShownTarget(t.Target), "id", it.ID)
		l.unsent(t, it, isProbe, false)
		return
	}
	// The end of a pause comes before the record, which may queue the next item: that must not be missed because of the pause.
	reached := err == nil || outward.Answered(err) || outward.Permanent(err)
	l.ended(t, it, err, isProbe, !reached && early)
	if reached || !early {
		l.record(t, it, attempt, err, !reached)
	}
}

// miss records a failed try of an item that is due during a pause.
func (l *Lanes) miss(t *target, it *item) {
	attempt, ok := l.open(it)
	l.mu.Lock()
	reason := cmp.Or(t.server.breaker.reason, t.breaker.reason)
	if !ok {
		l.end(t, it)
	}
	l.mu.Unlock()
	if ok {
		l.record(t, it, attempt, errors.New("endpoint paused: "+reason), true)
	}
}

// record has the outcome of a try recorded. The next item of the lane need not wait until the outcome is on record.
func (l *Lanes) record(t *target, it *item, attempt Attempt, err error, held bool) {
	final := attempt.Record(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if it.held = held; final {
		t.close(it)
		l.wake(t)
	}
}

// unsent gives the place of a send back that says nothing of the receiver. The item is forgotten if it was removed, or sent again when it
// is due.
func (l *Lanes) unsent(t *target, it *item, isProbe, removed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if removed {
		l.end(t, it)
	} else {
		t.again(it)
	}
	l.free(t, isProbe)
}

// again queues what was under way for when it is due.
func (t *target) again(it *item) {
	it.at, it.held = it.Due, true
	t.put(it)
}

// sendContext is that of one send: it outlives the end of the work by a moment.
func (l *Lanes) sendContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), l.Timeout)
	stop := context.AfterFunc(l.ctx, func() { time.AfterFunc(lastSends, cancel) })
	return ctx, func() { stop(); cancel() }
}
