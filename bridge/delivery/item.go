package delivery

import (
	"cmp"
	"container/heap"
	"time"

	"ledge/domain"
)

// item is an open transmission. Its next try is due at a time that is on record; it may be sent from at on, which can be earlier.
type item struct {
	id       string
	entity   string
	sequence uint64
	critical bool
	growing  bool // its resends have no interval of their subscription's
	tries    int  // that are on record
	limit    int  // of resends
	due, at  time.Time

	wanted bool // somebody asked for the next try
	held   bool // the pause of its server or target kept it, or ended its last try
	probe  bool // it is under way during a pause
	queued bool // it is in a queue of its target
	closed bool // it has its outcome, which may not be on record yet
}

// item is an open transmission as it waits, for as long as two tries may be apart at the most: the clock may have been set
// back since its next try was put on record. From here on the time is monotonic.
func (d *Delivery) item(t domain.Transmission) *item {
	it := &item{id: t.ID, entity: t.Entity, sequence: t.Sequence, critical: t.Critical}
	d.renew(it, t)
	return it
}

// renew takes what the record says of the next try.
func (d *Delivery) renew(it *item, t domain.Transmission) {
	now := d.Now()
	longest := most(d.LongestWait)
	if t.FixedInterval {
		longest = time.Duration(t.ResendInterval) * time.Millisecond
	}
	it.growing, it.tries, it.limit = !t.FixedInterval, len(t.Records), t.ResendLimit
	it.due = now.Add(min(time.UnixMilli(t.Next).Sub(now), longest))
	it.at, it.wanted = it.due, false
}

// last reports whether no resend is left after the next try.
func (it *item) last() bool { return it.tries >= it.limit }

// queue is a heap of items.
type queue struct {
	items []*item
	less  func(a, b *item) int
}

// byTime is in the order of time; critical is that order, but with what is CRITICAL first. At one time the sequence decides.
func byTime(a, b *item) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.id, b.id))
}

func criticalFirst(a, b *item) int {
	if a.critical != b.critical {
		if a.critical {
			return -1
		}
		return 1
	}
	return byTime(a, b)
}

// Len and the next ones implement heap.Interface.
func (q *queue) Len() int           { return len(q.items) }
func (q *queue) Less(i, j int) bool { return q.less(q.items[i], q.items[j]) < 0 }
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
func (q *queue) take() *item  { return heap.Pop(q).(*item) }
func (q *queue) empty() bool  { return len(q.items) == 0 }
func (q *queue) reorder()     { heap.Init(q) }
