package fold

import (
	"context"
	"fmt"
	"math"

	"go.etcd.io/bbolt"
)

// forgetAtOnce is how many rows one transaction takes away: it holds up the flushes, and its keys are all over the file.
const forgetAtOnce = 256

// Forget takes away what the events before first have put and no later one has put again, from tables with the index [Written]. What stays
// in them is what a fold makes of the events from first on. It is for streams that may have gaps, and returns how many rows went. When ctx
// ends, it stops after a part.
func (d *DB) Forget(ctx context.Context, first uint64) (n int, err error) {
	if !d.gaps {
		return 0, fmt.Errorf("forget: %s are kept for ever", d.name)
	}
	for more := first > 1; more && ctx.Err() == nil; {
		var some int
		if some, more, err = d.forget(first); err != nil {
			return n, fmt.Errorf("forget events before %d: %w", first, err)
		}
		n += some
	}
	return n, ctx.Err()
}

// forget is a part of Forget, in one transaction at most. more is whether there is another part.
func (d *DB) forget(first uint64) (n int, more bool, err error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.closed {
		return 0, false, ErrClosed
	}
	if err := d.Health(); err != nil {
		return 0, false, err
	}
	if err := d.flushWriting(min(first-1, d.at().Seq)); err != nil {
		return 0, false, err
	}
	old := false // else nothing is written
	err = d.file.reading(func(rows *bbolt.Bucket) error {
		old = d.firstWritten(rows) < first
		return nil
	})
	if err != nil || !old {
		return 0, false, d.noteDamage(err)
	}
	defer d.writer.reset()
	err = d.update(func(tx *bbolt.Tx) error {
		rows := tx.Bucket(bucketName)
		for _, t := range d.tables {
			n += t.forget(&Forgetting{rows, d.writer, first}, forgetAtOnce-n)
		}
		return d.writer.flush(rows)
	})
	if err != nil {
		return 0, false, d.writeFailed(err)
	}
	return n, n >= forgetAtOnce, nil
}

// Forgetting is a part of [DB.Forget].
type Forgetting struct {
	rows   *bbolt.Bucket
	w      *writer
	before uint64
}

// forget implements [AnyTable]. A table without the index of what was written forgets nothing.
func (t *Table[S]) forget(f *Forgetting, most int) (n int) {
	x := t.index(Written)
	if x == nil {
		return 0
	}
	for suffix := range suffixes(f.rows, appendRange(nil, x.ID, ""), nil) {
		if n >= most || seqOf(suffix) >= f.before {
			break
		}
		row := append([]byte{t.ID}, suffix[suffixHead:]...)
		s, seq, ok := t.read(f.rows, row)
		if !ok || seq != seqOf(suffix) {
			panic(damage{fmt.Errorf("%s %q of event %d is in an index and not there", t.Name, NameIn(row[1:]), seqOf(suffix))})
		}
		t.forgetRow(f.w, row, s, seq)
		n++
		if t.Parts != nil {
			n += t.Parts(f, s)
		}
	}
	return n
}

// Forget takes away the row at a name, if an event before that of f has put it. It is for [Table.Parts].
func (t *Table[S]) Forget(f *Forgetting, name string) bool {
	row := appendRow(nil, t.ID, name)
	s, seq, ok := t.read(f.rows, row)
	if ok = ok && seq < f.before; ok {
		t.forgetRow(f.w, row, s, seq)
	}
	return ok
}

// forgetRow takes away a row and its entries.
func (t *Table[S]) forgetRow(w *writer, row []byte, s S, seq uint64) {
	w.delete(row)
	t.enter(w, &s, seq, row[1:], true)
}

// firstWritten returns the first sequence that has put a row that is there, of all tables with the index [Written]; the largest number if there
// is no such row.
func (d *DB) firstWritten(rows *bbolt.Bucket) uint64 {
	seq := uint64(math.MaxUint64)
	for _, t := range d.tables {
		seq = min(seq, t.first(rows))
	}
	return seq
}

// first implements [AnyTable].
func (t *Table[S]) first(rows *bbolt.Bucket) uint64 {
	if x := t.index(Written); x != nil {
		for suffix := range suffixes(rows, appendRange(nil, x.ID, ""), nil) {
			return seqOf(suffix)
		}
	}
	return math.MaxUint64
}
