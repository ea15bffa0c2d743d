package lanes

import (
	"cmp"
	"container/heap"
	"time"
)

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

// renew takes what is known of the next try.
func (it *item) renew(next Item) { it.Item, it.at = next, next.Due }

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
