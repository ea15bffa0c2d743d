package fold

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// writer gathers what a memtable changes in the file, to write it in the order of the keys: neighbours are then written
// while their page is at hand.
type writer struct {
	// changes are by the first byte of their keys. Those of one index come nearly sorted, since most events are of later times and names than
	// those before.
	changes  [256][]change
	counters map[string]*tally // by key: what there is more than before
	keys     int64             // how many keys there are more than before
	arena    []byte            // has room for the keys and values of changes
	// from and to are a row that the file does not have, and the first key behind it: there is nothing between.
	from, to []byte
	// scratch
	key    []byte
	note   []byte
	values []string
}

// take returns a slice of length 0 and capacity n. Many share one allocation: bbolt keeps the values until the transaction ends.
func (w *writer) take(n int) []byte {
	const chunk = 64 << 10
	if cap(w.arena)-len(w.arena) < n {
		w.arena = make([]byte, 0, max(n, chunk))
	}
	at := len(w.arena)
	w.arena = w.arena[:at+n]
	return w.arena[at : at : at+n]
}

// change puts a sealed value at a key, or, where it is nil, deletes the key.
type change struct{ key, value []byte }

// fill is how full bbolt leaves a page that it splits. Most keys come at the end of what they sort into.
const fill = 0.9

func newWriter() *writer { return &writer{counters: map[string]*tally{}} }

// put has a sealed value written; fresh is that the file does not have the key. The writer keeps both.
func (w *writer) put(key, sealed []byte, fresh bool) {
	if fresh {
		w.keys++
	}
	w.add(change{key, sealed})
}

func (w *writer) add(one change) { w.changes[one.key[0]] = append(w.changes[one.key[0]], one) }

// delete has a key deleted that the file has. The writer keeps the key.
func (w *writer) delete(key []byte) {
	w.keys--
	w.add(change{key: key})
}

// count adds to the counter at a key.
func (w *writer) count(key []byte, more tally) {
	t := w.counters[string(key)]
	if t == nil {
		t = &tally{}
		w.counters[string(key)] = t
	}
	t.add(more)
}

// flush writes everything to rows.
func (w *writer) flush(rows *bbolt.Bucket) error {
	rows.FillPercent = fill
	c := rows.Cursor()
	for key, more := range w.counters {
		w.flushCounter(c, []byte(key), *more)
	}
	if w.keys != 0 {
		n := readKeys(c) + w.keys
		one := change{key: keysKey}
		if n != 0 {
			one.value = seal(keysKey, binary.BigEndian.AppendUint64(nil, uint64(n)))
		}
		w.add(one)
	}
	for _, changes := range w.changes {
		slices.SortFunc(changes, func(a, b change) int { return bytes.Compare(a.key, b.key) })
		for _, one := range changes {
			if err := one.apply(rows); err != nil {
				return err
			}
		}
	}
	return nil
}

func (one change) apply(rows *bbolt.Bucket) error {
	if one.value == nil {
		return rows.Delete(one.key)
	}
	return rows.Put(one.key, one.value)
}

func (w *writer) flushCounter(c *bbolt.Cursor, key []byte, more tally) {
	if more == (tally{}) {
		return
	}
	old := seek(c, key)
	n := readTally(old)
	n.add(more)
	switch {
	case n.count > 0:
		w.put(key, seal(key, n.append(nil)), old == nil)
	case old != nil:
		w.delete(key)
	}
}

// reset forgets what was flushed, and keeps the memory for the next flush, unless this one took much less.
func (w *writer) reset() {
	for i, changes := range w.changes {
		clear(changes) // which would keep the keys and values
		if w.changes[i] = changes[:0]; cap(changes) > 4*len(changes)+64 {
			w.changes[i] = nil
		}
	}
	w.arena = nil
	w.from, w.to = nil, nil
	clear(w.counters)
	w.keys = 0
}

// keysKey is where the file says how many keys it has, but for the meta keys: what a damaged page hides is missed by that.
var keysKey = []byte{metaID, 'k'}

func readKeys(c *bbolt.Cursor) int64 {
	b := seek(c, keysKey)
	if b == nil {
		return 0
	}
	if len(b) != 8 {
		panic(damage{fmt.Errorf("number of keys in %d bytes", len(b))})
	}
	return int64(binary.BigEndian.Uint64(b))
}

// write implements AnyTable: it brings a row of a memtable to the writer, with its entries, and takes away those of the row that the
// file has.
func (t *Table[S]) write(c *bbolt.Cursor, w *writer, r memrow) {
	key, row := r.key, r.row()
	was := w.seek(c, key)
	switch {
	case was == nil && row == nil, was != nil && bytes.Equal(was, row):
		return // it came and went, or the file has it
	case row == nil:
		w.delete(key)
	default:
		w.put(key, r.value, was == nil)
	}
	if len(t.Indexes) == 0 {
		return
	}
	if was != nil {
		s, seq := t.mustParse(key[1:], was)
		t.enter(w, &s, seq, key[1:], true)
	}
	if row != nil {
		seq, _ := binary.Uvarint(row)
		t.enter(w, r.entity.(*S), seq, key[1:], false)
	}
}

// seek is that of a cursor of the file. Keys come sorted: many that are not in the file are between the same two keys of it.
func (w *writer) seek(c *bbolt.Cursor, key []byte) []byte {
	if w.from != nil && bytes.Compare(w.from, key) < 0 && (w.to == nil || bytes.Compare(key, w.to) < 0) {
		return nil
	}
	value, next := seekNext(c, key)
	if w.from, w.to = key, next; value != nil {
		w.from = nil
	}
	return value
}

// enter has the entries of an entity put into its indexes, or taken away. The sequence is that of the event that has put
// the entity, and name is as in its row's key.
func (t *Table[S]) enter(w *writer, s *S, seq uint64, name []byte, gone bool) {
	if len(t.Indexes) == 0 {
		return
	}
	one := t.one(*s)
	if gone {
		one.count, one.weight = -one.count, -one.weight
	}
	usual := suffixOf(t.Indexes[0].At(*s), seq, name)
	for i := range t.Indexes {
		x, suffix := &t.Indexes[i], usual
		if i > 0 && x.At != nil {
			suffix = suffixOf(x.At(*s), seq, name)
		}
		var value []byte
		if x.Name == Created {
			value = usual[:8] // the time: what the entity's place in the other indexes is known by
		} else if x.Note != nil {
			w.note = x.Note(w.note[:0], *s)
			value = w.note
		}
		w.values = x.of(w.values[:0], *s)
		for _, v := range w.values {
			key := appendRange(w.take(3+min(len(v), longestValue+1)+len(suffix)), x.ID, v)
			if t.Shift > 0 && x.Name != Written {
				w.key = appendBucket(w.key[:0], key, bucketOf(suffix, t.Shift))
				w.count(w.key, tally{count: one.count})
			}
			w.key = appendCount(w.key[:0], x.ID, v)
			w.count(w.key, one)
			if key = append(key, suffix...); gone {
				w.delete(key)
			} else {
				w.put(key, seal(key, append(w.take(len(value)+sumLength), value...)), true)
			}
		}
	}
}

func suffixOf(at int64, seq uint64, name []byte) []byte {
	suffix := appendTime(make([]byte, 0, suffixHead+len(name)), at)
	return append(binary.BigEndian.AppendUint64(suffix, seq), name...)
}
