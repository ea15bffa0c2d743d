package projections

import (
	"sync"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// State returns the tables of this file at the checkpoint, for deciding, and a function that lets go of them: call it
// soon, and before Apply. The tables of the other streams are nil. One goroutine at a time may use a State; each key
// is read and decoded once. What it returns stays good after the release.
//
// A Get on a damaged file panics: there is no answer that a decision could rest on. The file is rebuilt at the next
// start.
func (d *DB) State() (domain.State, func()) {
	v, release := d.View()
	return v.State, release
}

// View returns a consistent view of the file, and a function that lets go of it: call it soon, and before Apply. It
// panics with [ErrClosed] after Close.
func (d *DB) View() (*View, func()) {
	tx, err := d.bolt.Begin(false)
	if err != nil {
		panic(ErrClosed)
	}
	v := &View{d: d}
	d.must(func() error {
		v.rows = tx.Bucket(bucketName)
		return nil
	}, tx.Rollback)
	switch d.tables {
	case Events:
		v.State = domain.State{
			Profiles: newTable(profiles, v), Services: newTable(services, v), Devices: newTable(devices, v),
			Subscriptions: newTable(subscriptions, v), IDs: newTable(ids, v), Uses: newTable(uses, v),
			Seeds: newTable(seeds, v),
		}
	case Notifications:
		v.State = domain.State{
			Notifications: newTable(notifications, v), Transmissions: newTable(transmissions, v),
			Cursors: newTable(cursors, v),
		}
	case Readings:
		v.State = domain.State{Readings: newTable(readings, v)}
	}
	var once sync.Once
	return v, func() { once.Do(func() { _ = tx.Rollback() }) }
}

// snapshot is a table of a read transaction, with what was read from it.
type snapshot[S any] struct {
	*kind[S]
	d     *DB
	rows  *bbolt.Bucket
	known map[string]found[S]
	key   []byte
}

type found[S any] struct {
	value S
	ok    bool
}

func newTable[S any](k *kind[S], v *View) *snapshot[S] {
	return &snapshot[S]{kind: k, d: v.d, rows: v.rows}
}

// Get implements domain.Table.
func (t *snapshot[S]) Get(key string) (S, bool) {
	if f, ok := t.known[key]; ok {
		return f.value, f.ok
	}
	t.key = appendRow(t.key[:0], t.id, key)
	var f found[S]
	t.d.must(func() error { f.value, _, f.ok = t.read(t.rows, t.key); return nil })
	if t.known == nil {
		t.known = map[string]found[S]{}
	}
	t.known[key] = f
	return f.value, f.ok
}

// Put panics: a State is for reading.
func (t *snapshot[S]) Put(string, S) { panic("projections: put on a state; put on an overlay of it") }

// Delete panics: a State is for reading.
func (t *snapshot[S]) Delete(string) {
	panic("projections: delete on a state; delete on an overlay of it")
}
