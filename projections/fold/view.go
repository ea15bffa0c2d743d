package fold

import (
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// View is what was applied: rows of tables, with [Table.Rows], and lists. One goroutine at a time may use it, until it is released; what it has returned stays
// good.
//
// All that is read from a View before its first list is as of one checkpoint, that at the call of [DB.View] or a later
// one. That list and all that is read after it, lists or not, are as of one checkpoint too, which is the same one or a later
// one. A View holds a transaction: release it soon.
type View struct {
	d      *DB
	tx     *bbolt.Tx     // nil if the projection is closed, or cannot be read
	rows   *bbolt.Bucket // of tx
	cursor *bbolt.Cursor // of rows; nil until a row is read
	// stalled is that tx is for writing, and the View holds DB.writing: see unflushed.
	stalled bool
	// What the file may not have; nil both where the transaction has it all.
	fresh, flushing *memtable
	at              Checkpoint // of what is seen with the memtables
	filed           Checkpoint // of the transaction
	looks           int        // how often the view has begun to read from another transaction
	why             error      // there is no transaction, where it is damage
	once            sync.Once  // releases
}

// View returns a view of all that was applied before the call, and a function that lets go of it: call it soon, and
// before Apply. It panics with [ErrClosed] after Close.
func (d *DB) View() (*View, func()) {
	v := &View{d: d}
	if err := v.look(); errors.Is(err, ErrClosed) {
		panic(ErrClosed)
	}
	return v, func() { v.once.Do(v.end) }
}

// look takes the memtables and begins a transaction, so that both together have everything that was applied. Where the file has
// moved past the memtables meanwhile, it looks again.
func (v *View) look() error {
	for {
		d := v.d
		d.mu.Lock()
		closed := d.closed
		v.fresh, v.flushing, v.at = d.fresh, d.flushing, d.at()
		d.mu.Unlock()
		if closed {
			return ErrClosed
		}
		if err := v.begin(); err != nil || v.filed.Seq <= v.at.Seq {
			return err
		}
		v.end()
	}
}

// begin begins a transaction for reading.
func (v *View) begin() error {
	v.looks++
	err := guarded(func() (err error) {
		if v.tx, err = v.d.file.begin(false); err != nil {
			return err
		}
		if v.rows = v.tx.Bucket(bucketName); v.rows == nil {
			return damage{fmt.Errorf("the bucket %q is not there", bucketName)}
		}
		v.filed, err = v.d.file.checkpoint(v.tx, v.rows)
		return err
	})
	if errors.Is(err, bbolterrors.ErrDatabaseNotOpen) {
		err = ErrClosed
	}
	if err != nil {
		v.end()
		v.why = v.d.noteDamage(err)
	}
	return err
}

// end lets go of the transaction.
func (v *View) end() {
	if v.tx == nil {
		return
	}
	v.d.file.done(v.tx)
	if v.stalled {
		v.d.writing.Unlock()
	}
	v.tx, v.rows, v.cursor, v.stalled = nil, nil, nil, false
}

// row returns the row at a key, nil if it is absent.
func (v *View) row(key []byte) (row []byte) {
	for _, m := range [...]*memtable{v.fresh, v.flushing} {
		if row, known := m.get(key); known {
			return row
		}
	}
	if err := v.unreadable(); err != nil {
		panic(err)
	}
	if v.cursor == nil {
		v.cursor = v.rows.Cursor()
	}
	v.must(func() error { row = seek(v.cursor, key); return nil })
	return row
}

// flushed makes one transaction all that the view reads from. Lists need it, because memtables have no indexes: what was applied
// is flushed first. The own transaction ends before, since a flush may wait for those that are open. After an error the view is as
// [DB.View] makes it.
func (v *View) flushed() error {
	if v.fresh == nil && v.flushing == nil {
		return v.unreadable()
	}
	v.end()
	err := v.d.flush(v.at.Seq)
	switch {
	case err == nil:
		v.fresh, v.flushing = nil, nil
		err = v.begin()
	case isFull(err):
		err = v.unflushed()
	}
	if err == nil {
		return nil
	}
	if again := v.look(); again != nil {
		return again
	}
	return err
}

// unflushed has the view read what a full disk has no room for in a transaction for writing that is never committed. The view holds DB.writing
// until its release: another list, and the next try to flush, wait for it.
func (v *View) unflushed() error {
	d := v.d
	d.writing.Lock()
	tx, filed, err := d.putUncommitted()
	if err != nil {
		d.writing.Unlock()
		return err
	}
	v.looks++
	v.fresh, v.flushing = nil, nil
	v.tx, v.rows, v.filed, v.stalled = tx, tx.Bucket(bucketName), filed, true
	return nil
}

// putUncommitted begins a transaction that has everything that was applied, and returns its checkpoint, too. The caller holds writing.
func (d *DB) putUncommitted() (tx *bbolt.Tx, at Checkpoint, err error) {
	d.mu.Lock()
	closed, waiting := d.closed, []*memtable{d.flushing, d.fresh}
	d.mu.Unlock()
	switch {
	case closed:
		return nil, at, ErrClosed
	case d.Health() != nil:
		return nil, at, d.Health()
	}
	if tx, err = d.beginWriting(); err != nil {
		return nil, at, d.writeFailed(err)
	}
	err = guarded(func() (err error) {
		for _, o := range waiting {
			if o == nil {
				continue
			}
			if err := d.put(tx, o); err != nil {
				return err
			}
		}
		at, err = readCheckpoint(tx.Bucket(bucketName))
		return err
	})
	if err != nil {
		_ = guarded(tx.Rollback)
		return nil, at, d.writeFailed(err)
	}
	return tx, at, nil
}

// Checkpoint returns the sequence and the chain of the last event that the view knows. A list may move it.
func (v *View) Checkpoint() (seq uint64, chain [32]byte) {
	c := v.at
	if v.fresh == nil && v.flushing == nil {
		c = v.filed
	}
	return c.Seq, c.Chain
}

// unreadable returns why there is no transaction, nil if there is one.
func (v *View) unreadable() error {
	switch {
	case v.rows != nil:
		return nil
	case v.why != nil:
		return v.why
	}
	return ErrClosed
}

// Read runs f, which reads lists and entries of indexes, once the file has all that the view is to show. Damage that f meets is its error.
func (v *View) Read(f func() error) error {
	if err := v.flushed(); err != nil {
		return err
	}
	return v.d.noteDamage(guarded(f))
}

// Rows is a table of a View, with what was read from the file.
type Rows[S any] struct {
	*Table[S]
	v     *View
	looks int                  // of the view, when known was read
	known map[string]*found[S] // what is there
	key   []byte
}

type found[S any] struct {
	value S
	ok    bool
	seq   uint64 // of the event that put it; tables without indexes do not keep it
}

// Rows returns the table of a view.
func (t *Table[S]) Rows(v *View) Rows[S] { return Rows[S]{Table: t, v: v} }

// Get returns what is there at a name. It panics with a [Broken] if the file is damaged; the view ends then.
func (t *Rows[S]) Get(name string) (S, bool) {
	f := t.row(name)
	return f.value, f.ok
}

// Revision returns the sequence of the event that put what is there at a name, 0 if nothing is there.
func (t *Rows[S]) Revision(name string) uint64 { return t.row(name).seq }

// row returns what is there at a name. It keeps that.
func (t *Rows[S]) row(name string) (f found[S]) {
	if t.looks != t.v.looks {
		t.looks, t.known = t.v.looks, nil
	}
	if f := t.known[name]; f != nil {
		return *f
	}
	row := t.Raw(name)
	if row == nil {
		return f
	}
	f.ok = true
	f.value, f.seq = t.Parse(name, row)
	if t.known == nil {
		t.known = map[string]*found[S]{}
	}
	t.known[name] = &f
	return f
}

// Raw returns the row at a name as it is in the file, nil if there is none. It panics as Get does.
func (t *Rows[S]) Raw(name string) []byte {
	t.key = appendRow(t.key[:0], t.ID, name)
	return t.v.row(t.key)
}

// Parse returns what is in a row that Raw has returned, and the sequence of the event that put it. It panics as Get does.
func (t *Rows[S]) Parse(name string, row []byte) (s S, seq uint64) {
	t.key = appendRow(t.key[:0], t.ID, name)
	t.v.must(func() error { s, seq = t.mustParse(t.key[1:], row); return nil })
	return s, seq
}
