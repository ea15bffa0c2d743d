package delivery

import (
	"container/heap"
	"context"
	"time"

	"ledge/bridge/recorder"
	"ledge/domain"
)

// step is what an endpoint's worker does next.
type step int

const (
	wait step = iota // until something changes, or some time has passed
	load             // what is on record and not known
	send
	rest // there is nothing to do, and the worker ends
)

// serve is an endpoint's worker. It ends when nothing waits for the endpoint.
func (d *Delivery) serve(e *endpoint) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for d.ctx.Err() == nil {
		it, next, after := d.next(e)
		switch next {
		case rest:
			return nil
		case load:
			if err := d.load(e); err != nil {
				return err
			}
		case wait:
			timer.Reset(after)
			select {
			case <-timer.C:
			case <-e.changed:
			case <-d.ctx.Done():
			}
		case send:
			d.begin(e, it)
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
func (d *Delivery) next(e *endpoint) (it item, next step, after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	atOnce := d.AtOnce
	if e.fails > 0 || !d.turns.Knows(e.name) {
		atOnce = 1
	}
	switch {
	case e.more && len(e.known) <= d.Queue/lowWater:
		e.more = false
		return it, load, 0
	case len(e.known) == 0 && e.busy == 0 && e.fails == 0:
		delete(d.endpoints, e.name)
		e.running = false
		return it, rest, 0
	case len(e.known) == 0 && e.busy == 0 && now.After(e.paused):
		e.fails = 0 // nothing was to be sent there for so long that nothing is known of it
		return it, wait, 0
	case len(e.due) == 0 || e.busy >= atOnce:
		return it, wait, idle
	case now.Before(e.paused):
		return it, wait, e.paused.Sub(now)
	}
	if due := e.due[0].due; due.After(now) {
		return it, wait, min(due.Sub(now), idle)
	}
	e.busy++
	return heap.Pop(&e.due).(item), send, 0
}

// begin sends in a goroutine, when its turn comes among all endpoints. A worker waits for that, so that what waits is one
// send of each endpoint.
func (d *Delivery) begin(e *endpoint, it item) {
	d.mu.Lock()
	failed := e.fails > 0
	d.mu.Unlock()
	if turn, ok := d.turns.Take(d.ctx, e.name, e.host(), failed); ok {
		d.sending.Go(func() { d.try(e, it, turn) })
	}
}

// load queues what is on record for an endpoint.
func (d *Delivery) load(e *endpoint) error {
	return d.pages(domain.Filter{Index: domain.IndexEndpoint, Value: e.name}, func(t domain.Transmission) bool {
		d.queue(t)
		d.mu.Lock()
		defer d.mu.Unlock()
		return !e.more && d.ctx.Err() == nil
	})
}

// pageLength is how many transmissions are in memory at once while they are listed.
const pageLength = 500

// pages hands the transmissions that a filter keeps to each, the oldest first, until that says no. All pages are of one
// look: in a list that grows at its front meanwhile, some would slip from one page into the one before, unseen.
func (d *Delivery) pages(f domain.Filter, each func(domain.Transmission) bool) error {
	_, lists, done := d.Look()
	defer done()
	_, offset, err := lists.Transmissions(domain.Page{}, f)
	for err == nil && offset > 0 {
		var list []domain.Transmission
		from := max(0, offset-pageLength)
		list, _, err = lists.Transmissions(domain.Page{Offset: from, Limit: offset - from}, f)
		for i := len(list) - 1; i >= 0; i-- {
			if !each(list[i]) {
				return nil
			}
		}
		offset = from
	}
	return err
}

// read returns an open transmission with its notification. Where the state cannot be read for now, it waits.
func (d *Delivery) read(id string) (t domain.Transmission, n domain.Notification, ok bool) {
	for wait := recorder.FirstRetry; ; wait = min(2*wait, recorder.LastRetry) {
		err := domain.Try(func() { t, n, ok = d.open(id) })
		if err == nil {
			return t, n, ok
		}
		if recorder.Pause(d.ctx, d.Logger, wait, 1, err) != nil {
			return t, n, false
		}
	}
}

func (d *Delivery) open(id string) (t domain.Transmission, n domain.Notification, ok bool) {
	state, _, done := d.Look()
	defer done()
	if t, ok = state.Transmissions.Get(id); !ok || !t.IsOpen() {
		return t, n, false
	}
	n, ok = state.Notifications.Get(t.NotificationID)
	return t, n, ok
}

// sendContext is that of one try: it outlives the end of the work by a moment.
func (d *Delivery) sendContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), d.Timeout)
	stop := context.AfterFunc(d.ctx, func() { time.AfterFunc(lastSends, cancel) })
	return ctx, func() { stop(); cancel() }
}
