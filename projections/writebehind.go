package projections

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ledge/domain"
)

// limits say how far the file may lag behind what was applied.
type limits struct {
	// after is how long after the first event that is not in the file a flush begins. A transaction of one event
	// costs some 26 page writes, one of the events of half a second far fewer for each, because the ends of the indexes are
	// written again by every one; and requests take longer while it runs. Half a second of events is read from the log
	// again in no time after a kill.
	after time.Duration
	// events and bytes are how much waits before a flush begins at once. While it runs, as much may wait again, and the
	// rest of a batch; then Apply blocks.
	events, bytes int
	// mostMapped is how many bytes of the file's mapping may be resident when a flush begins: see mapped.
	mostMapped int64
}

var usualLimits = limits{after: 500 * time.Millisecond, events: 1000, bytes: 4 << 20, mostMapped: 8 << 20}

// mostRead is mostMapped for reading, which is more: who reads here and there in a large file maps most of what it reads
// again, and there may be thousands of reads between two flushes.
func (l limits) mostRead() int64 { return 8 * l.mostMapped }

func (l limits) withDefaults() limits {
	l.after = cmp.Or(l.after, usualLimits.after)
	l.events = cmp.Or(l.events, usualLimits.events)
	l.bytes = cmp.Or(l.bytes, usualLimits.bytes)
	l.mostMapped = cmp.Or(l.mostMapped, usualLimits.mostMapped)
	return l
}

// behind is what was applied and is not in the file: fresh, and before it flushing, which is being written. DB.writing is
// taken before applying, and that before seen.
type behind struct {
	limits
	applying sync.Mutex // held by what adds events, or takes fresh away
	room     *sync.Cond // of applying: fresh was taken away, or will not be any more

	// seen is held for reading from the look at the overlays to the begin of a transaction, so that what a reader
	// misses in the one it has in the other.
	seen     sync.RWMutex
	fresh    *overlay // nil where nothing waits; changes under applying and seen
	flushing *overlay // nil while nothing is being written, or stalls; changes under DB.writing and seen

	stalled atomic.Pointer[stall] // nil while the disk has room; changes under DB.writing

	due  chan struct{} // there is a fresh overlay
	full chan struct{} // it has reached a limit

	second chan struct{} // requests come first
}

func newBehind(l limits) behind {
	return behind{limits: l.withDefaults(), due: make(chan struct{}, 1), full: make(chan struct{}, 1), second: make(chan struct{}, 1)}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // there is a signal already
	}
}

// add is Apply for one event or more.
func (d *DB) add(events []domain.Recorded) error {
	d.applying.Lock()
	defer d.applying.Unlock()
	for d.isFull(d.fresh) && !d.closed && d.failed() == nil && d.Stalled() == nil {
		signal(d.full)
		d.room.Wait()
	}
	if err := d.ready(events); err != nil {
		return err
	}
	if err := d.hold(events); err != nil {
		return err
	}
	o := d.fresh
	if o == nil {
		d.seen.RLock()
		o = newOverlay(d, d.flushing)
		d.seen.RUnlock()
	}
	if err := o.fold(events); err != nil {
		d.noteDamage(err)
		return span(events, err)
	}
	if d.fresh == nil {
		d.seen.Lock()
		d.fresh = o
		d.seen.Unlock()
		signal(d.due)
	}
	d.move(o.end)
	if d.isFull(o) {
		signal(d.full)
	}
	return nil
}

func (d *DB) isFull(o *overlay) bool {
	return o != nil && (o.events >= d.events || o.bytes >= d.bytes)
}

// flush returns when the file has the events up to seq.
func (d *DB) flush(seq uint64) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	if _, err := d.resting(); err != nil && d.inFile < seq {
		return err
	}
	return d.flushWriting(seq)
}

// flushWriting is flush for who holds writing. It tries at once also while the disk is full.
func (d *DB) flushWriting(seq uint64) error {
	for d.inFile < seq {
		if d.closed {
			return ErrClosed
		}
		d.applying.Lock()
		o := d.takeFresh()
		d.applying.Unlock()
		if err := d.writeTaken(o); err != nil {
			d.applying.Lock() // who has seen no error waits by now
			defer d.applying.Unlock()
			d.room.Broadcast()
			return err
		}
	}
	return nil
}

// writeFresh is flush for who holds writing and applying.
func (d *DB) writeFresh() error {
	defer d.room.Broadcast()
	for o := d.takeFresh(); o != nil; o = d.takeFresh() {
		if err := d.writeTaken(o); err != nil {
			return err
		}
	}
	return d.failed()
}

// takeFresh returns what is to be written next: what stalls, or else fresh, which becomes flushing. After an error of a
// flush it leaves it where it is, for the readers.
func (d *DB) takeFresh() *overlay {
	if d.failed() != nil {
		return nil
	}
	if d.flushing != nil || d.fresh == nil {
		return d.flushing
	}
	d.fresh.below = nil // it is in the file
	d.seen.Lock()
	d.flushing, d.fresh = d.fresh, nil
	d.seen.Unlock()
	d.room.Broadcast()
	return d.flushing
}

// writeTaken writes what takeFresh has returned. Until the transaction has ended, the overlay stays where readers find
// it: where the disk is full, until the next try; after another error, for good, and the error is that of all that is
// applied or listed from then on.
func (d *DB) writeTaken(o *overlay) error {
	if err := d.failed(); err != nil || o == nil {
		return err
	}
	err := d.write(o)
	if noRoom(err) && d.failed() == nil {
		return d.stall(err)
	}
	if err != nil {
		d.log.Error("projection cannot be written; it takes no more events", "file", d.path, "error", err)
		d.fail(err)
		return err
	}
	d.unstall()
	d.seen.Lock()
	d.flushing = nil
	d.seen.Unlock()
	return nil
}

// write brings an overlay to the file, in one transaction. The caller holds writing.
func (d *DB) write(o *overlay) error {
	if err := d.begin(); err != nil {
		return err
	}
	if err := d.commit(o); err != nil {
		return err
	}
	d.applied += o.events
	d.inFile = o.end.seq
	return nil
}

// fail makes err the end of all writing; the first one stays.
func (d *DB) fail(err error) { d.broken.CompareAndSwap(nil, &err) }

// failed returns what ended all writing, if anything did.
func (d *DB) failed() error {
	if err := d.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// noteDamage condemns the file if err says that it is damaged.
func (d *DB) noteDamage(err error) {
	if _, damaged := errors.AsType[damage](err); damaged {
		d.fail(err)
		d.condemn(err)
	}
}

// RequestsFirst has flushes let requests go first from now on, where there are not processors enough for both. It is for
// when the file has caught up with the log: until then everybody waits for it.
func (d *DB) RequestsFirst() { signal(d.second) }

// flushBehind is the goroutine that flushes.
func (d *DB) flushBehind() {
	if d.flushUntil(d.second) {
		aside(func() { d.flushUntil(nil) })
	}
}

// flushUntil flushes until the file is closed, or until there is something in ended, and reports whether there was.
func (d *DB) flushUntil(ended <-chan struct{}) bool {
	timer := time.NewTimer(d.after)
	defer timer.Stop()
	for {
		select {
		case <-d.stop:
			return false
		case <-ended:
			return true
		case <-d.due:
			timer.Reset(d.after)
			continue
		case <-d.full:
		case <-timer.C:
		}
		_ = d.flush(d.at().seq) // who lists or applies next has the error
		if wait, err := d.resting(); err != nil {
			timer.Reset(wait)
		}
	}
}

// span names events in an error.
func span(events []domain.Recorded, err error) error {
	return fmt.Errorf("apply events %d to %d: %w", events[0].Seq, events[len(events)-1].Seq, err)
}
