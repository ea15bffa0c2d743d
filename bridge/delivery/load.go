package delivery

import (
	"ledge/bridge/recorder"
	"ledge/domain"
)

// takeUp queues all that is open. Pages are of one status, so that each is a short walk of an index. No worker begins before all is
// queued, so that no change overtakes an earlier one of the same device.
func (d *Delivery) takeUp() error {
	d.starting = true
	err := d.pages(domain.Filter{Index: domain.IndexStatus, Value: domain.StatusResending}, func(t domain.Transmission) bool {
		d.queue(t)
		return d.ctx.Err() == nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starting = false
	for _, t := range d.targets {
		d.look(t)
	}
	return err
}

// load queues what is on record for a target, and then what has come meanwhile.
func (d *Delivery) load(t *target) error {
	err := d.pages(domain.Filter{Index: domain.IndexEndpoint, Value: t.name}, func(one domain.Transmission) bool { return d.restore(t, one) })
	d.mu.Lock()
	defer d.mu.Unlock()
	t.loading = false
	for _, one := range t.late {
		if t.known[one.ID] == nil && !t.more {
			t.add(d.item(one))
		}
	}
	t.late = nil
	return err
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
