package fold

import (
	"bytes"
	"fmt"

	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"
)

// memtable is what events that are applied and not yet in the file have put and deleted: rows, by their keys, as the file has them. It does not
// change, so that whoever has one has a snapshot: events are folded on a copy, which shares what they leave as it is.
type memtable struct {
	rows   *btree.BTreeG[memrow]
	events int // how many it has
	bytes  int // what the rows take
	end    Checkpoint
}

type memrow struct {
	key   []byte
	value []byte // sealed; nil: deleted
	// entity is a pointer to what value was made of, for the indexes: to decode each row again takes a tenth of a fold.
	entity any
}

// perRow is about how many bytes a row takes in memory beside its key and value: its entity, and, while it is flushed, its part of a page of the
// file with the entries in it. Rows whose ids are in no order, such as transmissions, have a page each.
const perRow = 2 << 10

func (r memrow) size() int { return len(r.key) + len(r.value) + perRow }

// row returns the value without its checksum, nil if the row is deleted.
func (r memrow) row() []byte {
	if r.value == nil {
		return nil
	}
	return r.value[:len(r.value)-sumLength]
}

func newMemtable() *memtable {
	byKey := func(a, b memrow) bool { return bytes.Compare(a.key, b.key) < 0 }
	return &memtable{rows: btree.NewBTreeGOptions(byKey, btree.Options{NoLocks: true, Degree: 16})}
}

// copied returns a copy to fold on; of nil an empty one.
func (m *memtable) copied() *memtable {
	if m == nil {
		return newMemtable()
	}
	return &memtable{rows: m.rows.Copy(), events: m.events, bytes: m.bytes, end: m.end}
}

// get returns the row at a key; known is false if m has none, or is nil.
func (m *memtable) get(key []byte) (value []byte, known bool) {
	if m == nil {
		return nil, false
	}
	r, known := m.rows.Get(memrow{key: key})
	return r.row(), known
}

func (m *memtable) set(r memrow) {
	old, replaced := m.rows.Set(r)
	if m.bytes += r.size(); replaced {
		m.bytes -= old.size()
	}
}

// Events are some to fold, which follow each other in the order of the log.
type Events interface {
	Len() int
	// At returns where the i-th is on the log.
	At(i int) Checkpoint
	// Fold returns what folds the i-th into b. It panics on an event that cannot be folded.
	Fold(b *Batch) func(i int)
}

// Batch is a fold of events on a memtable: tables that are read and written.
type Batch struct {
	*memtable
	d     *DB
	below *memtable // which is being written to the file
	seq   uint64    // of the event that is being folded
	buf   bytes.Buffer
}

// fold returns what is to be the fresh memtable with some events more.
func (d *DB) fold(fresh, below *memtable, events Events) (*memtable, error) {
	b := &Batch{memtable: fresh.copied(), d: d, below: below}
	if err := b.fold(events); err != nil {
		return nil, err
	}
	b.events, b.end = b.events+events.Len(), events.At(events.Len()-1)
	return b.memtable, nil
}

func (b *Batch) fold(events Events) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = r
		default:
			err = fmt.Errorf("fold event %d: %v", b.seq, r)
		}
	}()
	each := events.Fold(b)
	for i := range events.Len() {
		b.seq = events.At(i).Seq
		each(i)
	}
	return nil
}

// Folded is one table of a [Batch].
type Folded[S any] struct {
	*Table[S]
	in *Batch
}

// In returns the table of a batch.
func (t *Table[S]) In(b *Batch) *Folded[S] { return &Folded[S]{t, b} }

// Get returns what is there at a name: it reads through to the memtable below, and then to the file.
func (t *Folded[S]) Get(name string) (s S, ok bool) {
	key := appendRow(nil, t.ID, name)
	row, known := t.in.get(key)
	if !known {
		row, known = t.in.below.get(key)
	}
	if !known {
		return t.readAlone(t.in.d, key)
	}
	if row != nil {
		s, _ = t.mustParse(key[1:], row)
	}
	return s, row != nil
}

// readAlone reads one key in a transaction of its own: one that were held from one event to the next would stop the file
// from growing, and with it the flush.
func (t *Table[S]) readAlone(d *DB, key []byte) (s S, ok bool) {
	err := d.file.reading(func(rows *bbolt.Bucket) error {
		s, _, ok = t.read(rows, key)
		return nil
	})
	if err != nil && !isDamage(err) {
		err = damage{err}
	}
	if err != nil {
		panic(err)
	}
	return s, ok
}

// Put puts a value at a name. One that cannot be encoded ends the fold.
func (t *Folded[S]) Put(name string, s S) {
	row := &t.in.buf
	row.Reset()
	row.Write(appendRow(row.AvailableBuffer(), t.ID, name))
	n := row.Len()
	if err := t.encodeRow(row, &s, t.in.seq); err != nil {
		panic(fmt.Errorf("encode %s %q: %w", t.Name, name, err))
	}
	b := make([]byte, row.Len()+sumLength) // of key and sealed value together
	key, value := b[:n:n], b[n:copy(b, row.Bytes())]
	t.in.set(memrow{key, seal(key, value), &s})
}

// Delete deletes what is there at a name, if there is anything.
func (t *Folded[S]) Delete(name string) {
	t.in.set(memrow{key: appendRow(nil, t.ID, name)})
}
