package delivery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ledge/domain"
)

// target is what waits for one place at a server: a URL, or a topic at a broker. All of it is guarded by Delivery.mu.
//
// What is known and open is in a lane, if it is about an entity. The first of each lane, and what is in no lane, is in one of the queues
// unless it is under way or waits for its record.
type target struct {
	name   string
	server *server
	gate   gate // of answers with errors

	later queue            // by time
	ready queue            // whose time has come
	known map[string]*item // all of them by id
	lanes map[string][]*item
	busy  int // sends under way

	more    bool                  // there is more on record than is known
	loading bool                  // the record is being read
	late    []domain.Transmission // that came meanwhile

	changed chan struct{} // has a token when the worker should look again
	running bool
}

// target returns the target of a channel; d.mu is held.
func (d *Delivery) target(c domain.Channel) *target {
	name := c.Target()
	t := d.targets[name]
	if t == nil {
		t = &target{
			name: name, server: d.server(c), known: map[string]*item{}, lanes: map[string][]*item{}, changed: make(chan struct{}, 1),
			later: queue{less: byTime}, ready: queue{less: criticalFirst},
		}
		t.server.targets[name] = t
		d.targets[name] = t
	}
	return t
}

// forget removes a target for which nothing waits, and its server with the last one; d.mu is held.
func (d *Delivery) forget(t *target) {
	s := t.server
	s.leave(t)
	delete(d.targets, t.name)
	if delete(s.targets, t.name); len(s.targets) == 0 {
		delete(d.servers, s.name)
	}
}

// shown is the name for people: without a query, which may have a token, and without addresses of e-mail.
func (t *target) shown() string {
	if strings.HasPrefix(t.name, domain.ChannelEmail) {
		return t.server.name
	}
	name, _, _ := strings.Cut(t.name, "?")
	return name
}

// add takes an open transmission that is not known.
func (t *target) add(it *item) {
	t.known[it.id] = it
	if it.entity == "" {
		t.put(it)
		return
	}
	lane := t.lanes[it.entity]
	i, _ := slices.BinarySearchFunc(lane, it, inLog)
	t.lanes[it.entity] = slices.Insert(lane, i, it)
	if i == 0 {
		t.put(it)
	}
}

func inLog(a, b *item) int {
	return cmp.Or(cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.id, b.id))
}

// put queues an item.
func (t *target) put(it *item) {
	if !it.queued {
		it.queued = true
		t.later.add(it)
	}
}

// close takes an item that has its outcome out of its lane. The next one of the lane is queued.
func (t *target) close(it *item) {
	if it.closed {
		return
	}
	it.closed = true
	lane := t.lanes[it.entity]
	i := slices.Index(lane, it)
	if i < 0 {
		return
	}
	if lane = slices.Delete(lane, i, i+1); len(lane) == 0 {
		delete(t.lanes, it.entity)
		return
	}
	t.lanes[it.entity] = lane
	if i == 0 {
		t.put(lane[0])
	}
}

// waits reports whether an item has its turn: it has no outcome, and nothing of its entity comes before it.
func (t *target) waits(it *item) bool {
	return !it.closed && (it.entity == "" || t.lanes[it.entity][0] == it)
}

// due moves what may be sent now to ready, and returns the first of it, nil for none.
func (t *target) due(now time.Time) *item {
	for !t.later.empty() && !t.later.first().at.After(now) {
		t.ready.add(t.later.take())
	}
	return t.top(&t.ready)
}

// top returns the first item of a queue that has its turn, and drops others.
func (t *target) top(q *queue) *item {
	for !q.empty() {
		it := q.first()
		if t.waits(it) {
			return it
		}
		it.queued = false
		q.take()
	}
	return nil
}

// take takes the first item of a queue.
func (t *target) take(q *queue) *item {
	it := q.take()
	it.queued = false
	return it
}

// hasten has what a pause kept waiting be sent now. What has an interval of its own keeps that, unless it is wanted.
func (t *target) hasten(now time.Time) {
	for _, it := range t.later.items {
		if it.wanted || it.held && it.growing {
			it.at = now
		}
	}
	t.later.reorder()
}
