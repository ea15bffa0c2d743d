package projections

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// forgetAtOnce is how many rows one transaction takes away: it holds up the flushes, and its keys are all over the file.
const forgetAtOnce = 256

// Forget takes away what the events before first have put and no later one has put again: a reading, a notification
// with the event that changed it last, a transmission. What stays is what a fold makes of the events from first on, but
// for the cursors, which say how far something has come and stay. It is for streams that drop their oldest events, so
// not for [Events], and returns how many rows went. When ctx ends, it stops after a part.
func (d *DB) Forget(ctx context.Context, first uint64) (n int, err error) {
	if d.tables == Events {
		return 0, fmt.Errorf("forget: %s are kept for ever", d.tables)
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
	if err := d.failed(); err != nil {
		return 0, false, err
	}
	if err := d.flushWriting(min(first-1, d.at().seq)); err != nil {
		return 0, false, err
	}
	if old, err := d.hasBefore(first); err != nil || !old {
		return 0, false, err
	}
	defer d.writer.reset()
	err = d.update(func(tx *bbolt.Tx) error {
		rows := tx.Bucket(bucketName)
		for _, t := range held[d.tables] {
			n += t.forget(rows, d.writer, first, forgetAtOnce-n)
		}
		return d.writer.flush(rows)
	})
	if err != nil {
		return 0, false, d.writeFailed(err)
	}
	return n, n >= forgetAtOnce, nil
}

// hasBefore reports whether there is anything to forget: else nothing is written.
func (d *DB) hasBefore(first uint64) (old bool, err error) {
	err = guarded(func() error {
		tx, err := d.file.read()
		if err != nil {
			return err
		}
		defer d.file.done(tx)
		for _, t := range held[d.tables] {
			old = old || t.forget(tx.Bucket(bucketName), newWriter(), first, 1) > 0
		}
		return nil
	})
	return old, d.noteDamage(err)
}

// forget implements stored. A table without the index of what was written forgets nothing.
func (k *kind[S]) forget(rows *bbolt.Bucket, w *writer, before uint64, most int) (n int) {
	x := k.written()
	if x == nil {
		return 0
	}
	for suffix := range suffixes(rows, appendRange(nil, x.id, ""), nil) {
		if n >= most || seqOf(suffix) >= before {
			break
		}
		row := append([]byte{k.id}, suffix[suffixHead:]...)
		s, seq, ok := k.read(rows, row)
		if !ok || seq != seqOf(suffix) {
			panic(damage{fmt.Errorf("%s %q of event %d is in an index and not there", k.name, nameIn(row[1:]), seqOf(suffix))})
		}
		k.forgetRow(w, row, s, seq)
		n++
		if k.parts != nil {
			n += k.parts(rows, w, s, before)
		}
	}
	return n
}

// forgetReadings takes away the readings of an event of core-data that events before a sequence have put. They have no
// index of what was written: the event that puts a reading puts what it is a part of, too.
func forgetReadings(rows *bbolt.Bucket, w *writer, e domain.DataEvent, before uint64) (n int) {
	for _, id := range e.Readings {
		row := appendRow(nil, readingsID, id)
		if r, seq, ok := readings.read(rows, row); ok && seq < before {
			readings.forgetRow(w, row, r, seq)
			n++
		}
	}
	return n
}

func (k *kind[S]) written() *index[S] {
	for i := range k.indexes {
		if k.indexes[i].name == written {
			return &k.indexes[i]
		}
	}
	return nil
}

// forgetRow takes away a row and its entries.
func (k *kind[S]) forgetRow(w *writer, row []byte, s S, seq uint64) {
	w.delete(row)
	k.index(w, &s, seq, row[1:], true)
}
