package delivery

import (
	"ledge/domain"
)

// queue notes an open transmission that is new.
func (d *Delivery) queue(t domain.Transmission) {
	if !t.IsOpen() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.target(t.Channel)
	switch {
	case at.known[t.ID] != nil:
		return
	case at.more || len(at.known)+len(at.late) >= d.Queue:
		at.more = true // it stays on record: what is there for longer goes first
	case at.loading:
		at.late = append(at.late, t)
	default:
		at.add(d.item(t))
	}
	d.look(at)
}

// restore notes an open transmission that was read from the record. It reports whether there is room for more.
func (d *Delivery) restore(at *target, t domain.Transmission) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case at.known[t.ID] != nil || !t.IsOpen():
	case len(at.known) >= d.Queue:
		at.more = true
	default:
		at.add(d.item(t))
	}
	return !at.more && d.ctx.Err() == nil
}

// update takes what the record says of a transmission after a try.
func (d *Delivery) update(t domain.Transmission) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.target(t.Channel)
	it := at.known[t.ID]
	switch {
	case !t.IsOpen() && it != nil:
		at.close(it)
		delete(at.known, t.ID)
	case !t.IsOpen():
	case it != nil:
		d.renew(it, t)
		at.put(it)
	default:
		at.more = true
	}
	d.look(at)
}

// unrecorded forgets the transmission of a try that is not recorded, as it was removed while it was under way: the stream
// says nothing more of it.
func (d *Delivery) unrecorded(r domain.Request) {
	try := r.Command.(domain.RecordTry)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		if it := t.known[try.ID]; it != nil {
			t.close(it)
			delete(t.known, try.ID)
			d.look(t)
			return
		}
	}
}

// look has the worker of a target look again, or starts it; d.mu is held.
func (d *Delivery) look(t *target) {
	switch {
	case t.running:
		select {
		case t.changed <- struct{}{}:
		default:
		}
	case !d.starting && d.ctx.Err() == nil:
		t.running = true
		d.run(func() error { return d.serve(t) })
	}
}

// gone notes that nothing was sent, because the transmission is not there any more: that says nothing of the receiver.
func (d *Delivery) gone(t *target, it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.close(it)
	delete(t.known, it.id)
	d.free(t, it)
}

// putOff queues a transmission whose send was cut off to make room.
func (d *Delivery) putOff(t *target, it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.again(it)
	d.free(t, it)
}

// again queues what is under way, for when it is due.
func (t *target) again(it *item) {
	it.at, it.held = it.due, true
	t.put(it)
}
