package projections

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// overlay is the fold of events that are applied and not yet in the file: what they have put and deleted, by key. One
// goroutine at a time adds to it; any number read. It keeps all that it has for as long as someone holds it, in the
// file or not.
type overlay struct {
	d      *DB
	below  *overlay // on its way to the file when this one was made; for the fold only
	events int      // how many it has
	bytes  int      // what the values that they put take
	end    checkpoint
	seq    uint64 // of the event that is being folded

	mu     sync.RWMutex // of the layers' maps; nobody waits for anything while holding it
	state  domain.State // of layers
	layers [lastTableID + 1]table
}

// table is a layer of whatever type.
type table interface {
	forget(from uint64)
	write(rows *bbolt.Bucket, w *writer) error
}

// layer is one table of an overlay.
type layer[S any] struct {
	*kind[S]
	over  *overlay
	keys  map[string]*versions[S]
	order []*versions[S] // as they came
}

// versions is what the events of an overlay have made of a key. A reader finds what was there at its checkpoint while later
// events are folded.
type versions[S any] struct {
	key    string
	newest *version[S]
	first  version[S] // room for it
}

// version is what an event has made of a key. It changes as long as no checkpoint has the event.
type version[S any] struct {
	seq    uint64
	found  found[S]
	before *version[S] // nil where the file or the overlay below has it
}

// newest is a checkpoint at which every version is seen.
const newest = math.MaxUint64

func newOverlay(d *DB, below *overlay) *overlay {
	o := &overlay{d: d, below: below}
	switch d.tables {
	case Events:
		o.state = domain.State{
			Profiles: newLayer(profiles, o), Services: newLayer(services, o), Devices: newLayer(devices, o),
			Watchers: newLayer(watchers, o), Users: newLayer(users, o), Tokens: newLayer(tokens, o),
			Subscriptions: newLayer(subscriptions, o), IDs: newLayer(ids, o), Uses: newLayer(uses, o),
			Seeds: newLayer(seeds, o),
		}
	case Notifications:
		o.state = domain.State{
			Notifications: newLayer(notifications, o), Transmissions: newLayer(transmissions, o),
			Cleanups: newLayer(cleanups, o), Cursors: newLayer(cursors, o),
		}
	case Readings:
		o.state = domain.State{DataEvents: newLayer(dataEvents, o), Readings: newLayer(readings, o), Cleanups: newLayer(cleanups, o)}
	}
	o.state.Answers, o.state.AnswerOrder = newLayer(answers, o), newLayer(answerOrder, o)
	return o
}

func newLayer[S any](k *kind[S], o *overlay) *layer[S] {
	n := 0 // as many as in the one before: while that is being written, events come fast
	if o.below != nil {
		n = len(o.below.layers[k.id].(*layer[S]).keys)
	}
	l := &layer[S]{kind: k, over: o, keys: make(map[string]*versions[S], n), order: make([]*versions[S], 0, n)}
	o.layers[k.id] = l
	return l
}

// lookup returns what o has for key at a checkpoint; known is false where it has nothing, or o is nil.
func lookup[S any](o *overlay, k *kind[S], key string, at uint64) (f found[S], known bool) {
	if o == nil {
		return f, false
	}
	l := o.layers[k.id].(*layer[S])
	o.mu.RLock()
	defer o.mu.RUnlock()
	var v *version[S]
	if h := l.keys[key]; h != nil {
		v = h.newest
	}
	for v != nil && v.seq > at {
		v = v.before
	}
	if v == nil {
		return f, false
	}
	return v.found, true
}

// fold adds events. After an error, o is as it was.
func (o *overlay) fold(events []domain.Recorded) error {
	if err := fold(o.state, &o.seq, events); err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, l := range o.layers {
			if l != nil {
				l.forget(events[0].Seq)
			}
		}
		return err
	}
	last := &events[len(events)-1]
	o.events, o.end = o.events+len(events), checkpoint{last.Seq, last.Chain}
	return nil
}

// fold runs the events' Evolve on s, with the sequence of each in seq. An event that is not of this file's stream is
// an error.
func fold(s domain.State, seq *uint64, events []domain.Recorded) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = r
		default:
			err = &foldError{*seq, r}
		}
	}()
	for i := range events {
		*seq = events[i].Seq
		domain.Evolve(s, &events[i])
	}
	return nil
}

// foldError says that an event cannot be folded: it would be the same for every file.
type foldError struct {
	seq uint64
	why any
}

func (e *foldError) Error() string { return fmt.Sprintf("fold event %d: %v", e.seq, e.why) }

// Get implements domain.Table, for the fold: it reads through to what is below, and then to the file.
func (l *layer[S]) Get(key string) (S, bool) {
	f, known := lookup(l.over, l.kind, key, newest)
	if !known {
		f, known = lookup(l.over.below, l.kind, key, newest)
	}
	if !known {
		f = l.readAlone(l.over.d, key)
	}
	return f.value, f.ok
}

// readAlone reads one key in a transaction of its own: one that were held from one event to the next would stop the file
// from growing, and with it the flush.
func (k *kind[S]) readAlone(d *DB, key string) (f found[S]) {
	defer faults()()
	tx, err := d.file.read()
	if err != nil {
		panic(err)
	}
	defer d.file.done(tx)
	f.value, f.seq, f.ok = k.read(tx.Bucket(bucketName), appendRow(nil, k.id, key))
	return f
}

// Put implements domain.Table. What it keeps is what would come back from the file.
func (l *layer[S]) Put(key string, s S) {
	if l.canonical != nil {
		s = l.canonical(s)
	}
	size := sizeOf(&s)
	l.over.bytes += len(key) + size
	l.add(key, found[S]{s, true, l.over.seq, inWork(size, 0)})
}

// Delete implements domain.Table.
func (l *layer[S]) Delete(key string) {
	l.over.bytes += len(key) + perKey
	l.add(key, found[S]{})
}

// perKey is about how many bytes a change takes in memory beside its key and value.
const perKey = 128

func (l *layer[S]) add(key string, f found[S]) {
	l.over.mu.Lock()
	defer l.over.mu.Unlock()
	h := l.keys[key]
	switch {
	case h == nil:
		h = &versions[S]{key: key}
		h.newest = &h.first
		l.keys[key] = h
		l.order = append(l.order, h)
	case h.newest.seq <= l.over.end.seq:
		h.newest = &version[S]{before: h.newest}
	}
	h.newest.seq, h.newest.found = l.over.seq, f
}

// forget takes away what events from a sequence on have put. The caller holds the lock.
func (l *layer[S]) forget(from uint64) {
	l.order = slices.DeleteFunc(l.order, func(h *versions[S]) bool {
		for h.newest != nil && h.newest.seq >= from {
			h.newest = h.newest.before
		}
		if h.newest == nil {
			delete(l.keys, h.key)
		}
		return h.newest == nil
	})
}
