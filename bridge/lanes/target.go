package lanes

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"
)

// target is what waits for one target. All of it is guarded by Lanes.mu.
//
// An item that is about an entity is in a lane. The first item of each lane, and each item that is in no lane, is in one of the queues
// unless it is under way or its outcome is not on record yet.
type target struct {
	Endpoint
	server  *server
	breaker breaker // for answers with errors

	later queue            // by time
	ready queue            // whose time has come
	known map[string]*item // all items by id
	lanes map[string][]*item
	busy  int // sends under way

	more    bool   // there are more items on record
	loading bool   // they are being loaded
	late    []Item // that came meanwhile

	changed chan struct{} // has a token when the worker should look again
	running bool
}

// target returns the target of an endpoint; l.mu is held.
func (l *Lanes) target(e Endpoint) *target {
	t, s := l.targets[e.Target], l.servers[e.Server]
	if s == nil {
		s = &server{name: e.Server, targets: map[string]*target{}, window: newWindow(l.AtOnce)}
		l.servers[e.Server] = s
	}
	if t == nil {
		t = &target{
			Endpoint: e, server: s, known: map[string]*item{}, lanes: map[string][]*item{}, changed: make(chan struct{}, 1),
			later: queue{order: byTime}, ready: queue{order: criticalFirst},
		}
		s.targets[e.Target], l.targets[e.Target] = t, t
	}
	s.host = e.Host
	return t
}

// forget removes a target for which nothing waits, and its server with the last one; l.mu is held.
func (l *Lanes) forget(t *target) {
	s := t.server
	s.leave(t)
	delete(l.targets, t.Target)
	if delete(s.targets, t.Target); len(s.targets) == 0 {
		delete(l.servers, t.Server)
	}
}

// waiting is how many items are known and not under way.
func (t *target) waiting() int { return max(0, len(t.known)-t.busy) }

// held is how many items are in memory.
func (t *target) held() int { return len(t.known) + len(t.late) }

// add queues an item that is not known. It keeps copies of the item's texts, which are parts of a whole transmission.
func (t *target) add(one Item) {
	it := &item{}
	one.ID, one.Endpoint = strings.Clone(one.ID), t.Endpoint
	if lane := t.lanes[one.Entity]; len(lane) > 0 {
		one.Entity = lane[0].Entity
	} else {
		one.Entity = strings.Clone(one.Entity)
	}
	it.renew(one)
	t.known[it.ID] = it
	if it.Entity == "" {
		t.put(it)
		return
	}
	lane := t.lanes[it.Entity]
	i, _ := slices.BinarySearchFunc(lane, it, inLog)
	t.lanes[it.Entity] = slices.Insert(lane, i, it)
	if i == 0 {
		t.put(it)
	}
}

func inLog(a, b *item) int {
	return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.ID, b.ID))
}

// put queues an item.
func (t *target) put(it *item) {
	if !it.queued {
		it.queued = true
		t.later.add(it)
	}
}

// close takes an item that has its final outcome out of its lane. The next item of the lane is queued.
func (t *target) close(it *item) {
	it.closed = true
	lane := t.lanes[it.Entity]
	i := slices.Index(lane, it)
	if i < 0 {
		return
	}
	if lane = slices.Delete(lane, i, i+1); len(lane) == 0 {
		delete(t.lanes, it.Entity)
	} else if t.lanes[it.Entity] = lane; i == 0 {
		t.put(lane[0])
	}
}

// first reports whether an item is the first of its lane, or in none, and has no final outcome.
func (t *target) first(it *item) bool {
	return !it.closed && (it.Entity == "" || t.lanes[it.Entity][0] == it)
}

// due moves items whose time has come to ready, and returns the first of them, nil for none.
func (t *target) due(now time.Time) *item {
	for !t.later.empty() && !t.later.first().at.After(now) {
		t.ready.add(heap.Pop(&t.later).(*item))
	}
	return t.top(&t.ready)
}

// top returns the first item of a queue that may be sent, and drops others.
func (t *target) top(q *queue) *item {
	for !q.empty() {
		if it := q.first(); t.first(it) {
			return it
		}
		q.take()
	}
	return nil
}

// hasten brings forward what a pause kept waiting. Items with a fixed interval keep that.
func (t *target) hasten(now time.Time) {
	for _, it := range t.later.items {
		if it.held && !it.Fixed {
			it.at = now
		}
	}
	heap.Init(&t.later)
}

// hastenAll brings all items forward, also those with a fixed interval.
func (t *target) hastenAll(now time.Time) {
	for _, it := range t.known {
		it.held, it.Fixed = true, false
	}
	t.hasten(now)
}

// makeDue makes an item due. It reports false if the item is not in a queue, or waits for an earlier one of its lane.
func (t *target) makeDue(id string, now time.Time) bool {
	it := t.known[id]
	if it == nil || !it.queued || !t.first(it) {
		return false
	}
	it.Due, it.at = now, now
	heap.Init(&t.later)
	heap.Init(&t.ready)
	return true
}

// Endpoint is where an item is sent: a target, such as a URL, at a server on a host.
type Endpoint struct{ Server, Host, Target string }

// Item is what waits to be sent.
type Item struct {
	ID string
	Endpoint
	Entity       string // names its lane; empty for none
	Sequence     uint64 // is its place in the lane
	Critical     bool   // it is sent before all else that is due
	Fixed        bool   // the end of a pause does not bring its next try forward
	Tries, Limit int    // the tries so far, and how many resends there may be
	Due          time.Time
	Since        time.Time // when it began to wait, as far as the first Add of the item knows
}

// last reports whether no resend is left after the next try.
func (it *Item) last() bool { return it.Tries >= it.Limit }

// item is an Item in a queue. It may be sent from at on, which can be before it is due.
type item struct {
	Item
	at time.Time

	held   bool // a pause kept it or ended its last try, or somebody asked for the next one
	queued bool // it is in a queue of its target
	closed bool // it has its final outcome, which may not be on record yet
}

// renew takes what is known of the next try. The item has waited since its first one: later a step of the clock would count as time.
func (it *item) renew(next Item) {
	if !it.Since.IsZero() {
		next.ID, next.Endpoint, next.Entity, next.Since = it.ID, it.Endpoint, it.Entity, it.Since
	}
	it.Item, it.at = next, next.Due
}

// queue is a heap of items. It implements heap.Interface.
type queue struct {
	items []*item
	order func(a, b *item) int
}

// byTime sorts by time. At the same time the sequence decides.
func byTime(a, b *item) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.ID, b.ID))
}

func criticalFirst(a, b *item) int {
	switch {
	case a.Critical == b.Critical:
		return byTime(a, b)
	case a.Critical:
		return -1
	default:
		return 1
	}
}

func (q *queue) Len() int           { return len(q.items) }
func (q *queue) Less(i, j int) bool { return q.order(q.items[i], q.items[j]) < 0 }
func (q *queue) Swap(i, j int)      { q.items[i], q.items[j] = q.items[j], q.items[i] }
func (q *queue) Push(x any)         { q.items = append(q.items, x.(*item)) }
func (q *queue) Pop() any {
	last := q.items[len(q.items)-1]
	q.items[len(q.items)-1] = nil
	q.items = q.items[:len(q.items)-1]
	return last
}

func (q *queue) add(it *item) { heap.Push(q, it) }
func (q *queue) first() *item { return q.items[0] }
func (q *queue) empty() bool  { return len(q.items) == 0 }

// take takes the first item out of the queue.
func (q *queue) take() *item {
	it := heap.Pop(q).(*item)
	it.queued = false
	return it
}
