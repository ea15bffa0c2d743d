package delivery

import (
	"container/heap"
	"strings"
	"time"

	"ledge/domain"
)

// endpoint is what waits for one receiver. All of it is guarded by Delivery.mu.
type endpoint struct {
	name    string
	due     dueHeap
	known   map[string]bool // the ids in due, and of what is under way or waits for its record
	more    bool            // there is more on record than is known
	busy    int             // sends under way
	fails   int             // in a row
	paused  time.Time       // until then nothing is tried
	changed chan struct{}   // has a token when its worker should look again
	running bool
}

// host is the host of the name, which is type/host/port.
func (e *endpoint) host() string {
	_, host, _ := strings.Cut(e.name, "/")
	return host[:max(0, strings.LastIndexByte(host, '/'))]
}

// item is an open transmission that waits for its next try.
type item struct {
	id  string
	due time.Time
}

// item is an open transmission as it waits, for as long as two tries may be apart at the most: the clock may have been set
// back since its next try was put on record. From here on the time is monotonic.
func (d *Delivery) item(t domain.Transmission) item {
	now := d.Now()
	return item{t.ID, now.Add(min(time.UnixMilli(t.Next).Sub(now), most(d.LongestWait)))}
}

type dueHeap []item

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(item)) }
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// queue notes an open transmission that is new.
func (d *Delivery) queue(t domain.Transmission) {
	if !t.IsOpen() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.endpoint(t.Channel.Endpoint())
	switch {
	case e.known[t.ID]:
		return
	case len(e.known) >= d.Queue:
		e.more = true
	default:
		e.known[t.ID] = true
		heap.Push(&e.due, d.item(t))
	}
	d.look(e)
}

// settle takes what the record says of a transmission after a try.
func (d *Delivery) settle(t domain.Transmission) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.endpoint(t.Channel.Endpoint())
	switch {
	case !t.IsOpen():
		delete(e.known, t.ID)
	case e.known[t.ID]:
		heap.Push(&e.due, d.item(t))
	default:
		e.more = true
	}
	d.look(e)
}

// unrecorded forgets the transmission of a try that is not recorded, as it was removed while it was under way: the stream
// says nothing more of it.
func (d *Delivery) unrecorded(r domain.Request) {
	try := r.Command.(domain.RecordTry)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.endpoints {
		if e.known[try.ID] {
			delete(e.known, try.ID)
			d.look(e)
			return
		}
	}
}

// endpoint returns the endpoint of that name; d.mu is held.
func (d *Delivery) endpoint(name string) *endpoint {
	e := d.endpoints[name]
	if e == nil {
		e = &endpoint{name: name, known: map[string]bool{}, changed: make(chan struct{}, 1)}
		d.endpoints[name] = e
	}
	return e
}

// look has the endpoint's worker look again, or starts it; d.mu is held.
func (d *Delivery) look(e *endpoint) {
	if e.running {
		select {
		case e.changed <- struct{}{}:
		default:
		}
		return
	}
	if d.ctx.Err() == nil {
		e.running = true
		d.run(func() error { return d.serve(e) })
	}
}

// The waits after failures in a row begin at firstPause and double; steady is how many it takes for one.
const (
	steady     = 3
	firstPause = time.Second
)

// gone notes that nothing was sent, because the transmission is not there any more: that says nothing of the receiver.
func (d *Delivery) gone(e *endpoint, it item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(e.known, it.id)
	e.busy--
	d.look(e)
}

// again queues a transmission whose send was cut off to make room.
func (d *Delivery) again(e *endpoint, it item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	heap.Push(&e.due, it)
	e.busy--
	d.look(e)
}

// ended notes that a send is over; retry is how long the receiver wants to be left alone.
func (d *Delivery) ended(e *endpoint, failed bool, retry time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.busy--
	defer d.look(e)
	if !failed {
		if e.fails >= steady {
			d.Logger.Info("endpoint takes notifications again", "endpoint", e.name)
		}
		e.fails, e.paused = 0, time.Time{}
		return
	}
	e.fails++
	pause := retry
	if e.fails >= steady {
		pause = max(pause, backOff(firstPause, e.fails-steady, d.LongestPause))
	}
	if pause = min(pause, d.LongestPause); pause > 0 {
		e.paused = d.Now().Add(pause)
	}
	if e.fails == steady {
		d.Logger.Warn("endpoint takes no notifications, and is left alone for a while", "endpoint", e.name, "pause", pause)
	}
}
