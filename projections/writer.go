package projections

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// writer gathers what an overlay changes in the file, to write it in the order of the keys: neighbours are then written
// while their page is at hand.
type writer struct {
	changes  []change
	counters map[string]*tally // by key: what there is more than before
	keys     int64             // how many keys there are more than before
	// scratch
	buf    bytes.Buffer
	key    []byte
	values []string
}

// change puts a sealed value at a key, or, where it is nil, deletes the key.
type change struct{ key, value []byte }

// fill is how full bbolt leaves a page that it splits. Most keys come at the end of what they sort into.
const fill = 0.9

func newWriter() *writer { return &writer{counters: map[string]*tally{}} }

// put has a value written; fresh is that the file does not have the key. The writer keeps the key.
func (w *writer) put(key, value []byte, fresh bool) {
	if fresh {
		w.keys++
	}
	sealed := make([]byte, len(value), len(value)+sumLength)
	copy(sealed, value)
	w.changes = append(w.changes, change{key, seal(key, sealed)})
}

// delete has a key deleted that the file has. The writer keeps the key.
func (w *writer) delete(key []byte) {
	w.keys--
	w.changes = append(w.changes, change{key: key})
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
		w.changes = append(w.changes, one)
	}
	slices.SortFunc(w.changes, func(a, b change) int { return bytes.Compare(a.key, b.key) })
	for _, one := range w.changes {
		if err := one.apply(rows); err != nil {
			return err
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
		w.put(key, n.append(nil), old == nil)
	case old != nil:
		w.delete(key)
	}
}

// reset forgets what was flushed, and keeps some of the memory for the next flush.
func (w *writer) reset() {
	const kept = 1 << 15 // changes
	clear(w.changes)
	if w.changes = w.changes[:0]; cap(w.changes) > kept {
		w.changes = nil
	}
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

// write implements table: it brings what the layer has made of each key to the writer, with the entries of what the file has
// there taken away. Nobody adds to the overlay meanwhile.
func (l *layer[S]) write(rows *bbolt.Bucket, w *writer) error {
	indexed := len(l.indexes) > 0
	empty := indexed && tallyAt(rows, l.indexes[0].id, "").count == 0 // nothing to look for
	before := rows.Cursor()
	for _, h := range l.order {
		row := appendRow(nil, l.id, h.key)
		was, now := found[S]{}, h.newest
		if !empty {
			if b := seek(before, row); b != nil {
				if was.ok = true; indexed {
					was.value, was.seq = l.mustParse(row[1:], b)
				}
			}
		}
		if was.ok == now.found.ok && (!was.ok || indexed && was.seq == now.seq) {
			continue // it came and went, or the file has it
		}
		if err := l.writeRow(w, row, now, !was.ok); err != nil {
			return &encodeError{fmt.Errorf("encode %s %q: %w", l.name, h.key, err)}
		}
		if was.ok {
			l.index(w, &was.value, was.seq, row[1:], true)
		}
		if now.found.ok {
			l.index(w, &now.found.value, now.seq, row[1:], false)
		}
	}
	return nil
}

func (l *layer[S]) writeRow(w *writer, row []byte, v *version[S], fresh bool) error {
	if !v.found.ok {
		w.delete(row)
		return nil
	}
	w.buf.Reset()
	if len(l.indexes) > 0 {
		w.buf.Write(binary.AppendUvarint(w.buf.AvailableBuffer(), v.seq))
	}
	if err := l.encode(&w.buf, &v.found.value); err != nil {
		return err
	}
	w.put(row, w.buf.Bytes(), fresh)
	return nil
}

// encodeError says that a value cannot be written: it would be the same in every file.
type encodeError struct{ error }

func (e *encodeError) Unwrap() error { return e.error }

// index has the entries of an entity put into its indexes, or taken away. The sequence is that of the event that has put
// the entity, and name is as in its row's key.
func (k *kind[S]) index(w *writer, s *S, seq uint64, name []byte, gone bool) {
	if len(k.indexes) == 0 {
		return
	}
	one := k.one(*s)
	if gone {
		one.count, one.weight = -one.count, -one.weight
	}
	usual := suffixOf(k.indexes[0].at(*s), seq, name)
	for i := range k.indexes {
		x, suffix := &k.indexes[i], usual
		if i > 0 && x.at != nil {
			suffix = suffixOf(x.at(*s), seq, name)
		}
		var value []byte
		if x.name == created {
			value = usual[:8] // the time: what the entity's place in the other indexes is known by
		}
		w.values = x.of(w.values[:0], *s)
		for _, v := range w.values {
			prefix := appendRange(nil, x.id, v)
			if k.shift > 0 && x.name != written {
				w.key = appendBucket(w.key[:0], prefix, bucketOf(suffix, k.shift))
				w.count(w.key, tally{count: one.count})
			}
			w.key = appendCount(w.key[:0], x.id, v)
			w.count(w.key, one)
			if key := join(prefix, suffix); gone {
				w.delete(key)
			} else {
				w.put(key, value, true)
			}
		}
	}
}

func suffixOf(at int64, seq uint64, name []byte) []byte {
	suffix := appendTime(make([]byte, 0, suffixHead+len(name)), at)
	return append(binary.BigEndian.AppendUint64(suffix, seq), name...)
}
