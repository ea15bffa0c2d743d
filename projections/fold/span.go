package fold

import (
	"bytes"
	"iter"
	"math"

	"go.etcd.io/bbolt"
)

// span is the entries that an index has at one value, or those of a time among them.
type span struct {
	prefix   []byte // of the keys of the index at the value
	from, to []byte // the entries from one suffix to before another; nil if there is no bound
	shift    uint   // of its buckets; 0: it has none
	total    int    // how many entries there are; of a time without buckets, how many there are of all times
}

func (t *Table[S]) newSpan(rows *bbolt.Bucket, id byte, value string) *span {
	return &span{prefix: appendRange(nil, id, value), shift: t.Shift, total: int(tallyAt(rows, id, value).count)}
}

// boundTime leaves the entries of a time, both ends included. The total stays as it is.
func (s *span) boundTime(from, to int64) {
	s.from = appendTime(nil, from)
	if to < math.MaxInt64 {
		s.to = appendTime(nil, to+1)
	}
}

// limit is boundTime that counts the entries.
func (s *span) limit(rows *bbolt.Bucket, from, to int64) {
	if s.boundTime(from, to); s.shift > 0 {
		s.total = s.count(rows)
	}
}

// precedes reports whether a suffix lies before another, which is nil if nothing ends.
func precedes(suffix, to []byte) bool { return to == nil || bytes.Compare(suffix, to) < 0 }

// reader walks over a span from one end to the other.
type reader struct {
	c           *bbolt.Cursor
	first, end  []byte // keys
	prefix      int    // length of the prefix
	oldestFirst bool
	key, value  []byte // where it stands; the key is nil behind the end
}

// read returns a reader that stands at the first entry.
func (s *span) read(rows *bbolt.Bucket, oldestFirst bool) *reader {
	r := &reader{c: rows.Cursor(), first: join(s.prefix, s.from), prefix: len(s.prefix), oldestFirst: oldestFirst}
	if r.end = join(s.prefix, s.to); s.to == nil {
		r.end = after(s.prefix)
	}
	if oldestFirst {
		r.stand(r.c.Seek(r.first))
	} else {
		r.stand(before(r.c, r.end))
	}
	return r
}

func join(prefix, suffix []byte) []byte { return append(bytes.Clone(prefix), suffix...) }

// stand moves to a key, if that is one of the span.
func (r *reader) stand(key, sealed []byte) {
	if r.key = nil; key == nil || bytes.Compare(key, r.first) < 0 || bytes.Compare(key, r.end) >= 0 {
		return
	}
	r.key, r.value = key, unseal(key, sealed)
}

func (r *reader) suffix() []byte { return r.key[r.prefix:] }

func (r *reader) next() {
	if r.oldestFirst {
		r.stand(r.c.Next())
		return
	}
	key, sealed := r.c.Prev()
	if key == nil && r.c.Bucket().Writable() {
		key, sealed = before(r.c, r.key)
	}
	r.stand(key, sealed)
}

// precedes reports whether an entry comes before that of another reader.
func (r *reader) precedes(other *reader) bool {
	order := bytes.Compare(r.suffix(), other.suffix())
	return order < 0 && r.oldestFirst || order > 0 && !r.oldestFirst
}

// entries yields the spans' entries together, from one end to the other, without the first skip. An entity that several spans have comes once.
func entries(rows *bbolt.Bucket, spans []*span, oldestFirst bool, skip int) iter.Seq2[[]byte, []byte] {
	return func(yield func(suffix, value []byte) bool) {
		if len(spans) == 1 {
			rest := *spans[0]
			skip = rest.skip(rows, skip, oldestFirst)
			spans = []*span{&rest}
		}
		readers := make([]*reader, len(spans))
		for i, s := range spans {
			readers[i] = s.read(rows, oldestFirst)
		}
		var last []byte
		for {
			var r *reader
			for _, one := range readers {
				if one.key != nil && (r == nil || one.precedes(r)) {
					r = one
				}
			}
			switch {
			case r == nil:
				return
			case last != nil && bytes.Equal(r.suffix(), last):
			case skip > 0:
				skip--
			case !yield(r.suffix(), r.value):
				return
			}
			last = r.suffix()
			r.next()
		}
	}
}

// suffixes yields the suffixes of a range's entries that are not before one, the oldest first.
func suffixes(rows *bbolt.Bucket, prefix, from []byte) iter.Seq[[]byte] {
	return func(yield func(suffix []byte) bool) {
		for r := (&span{prefix: prefix, from: from}).read(rows, true); r.key != nil && yield(r.suffix()); r.next() {
		}
	}
}

// probe looks up entries of an index at one value. They come in order, so that the next is most often beside the last.
type probe struct {
	c      *bbolt.Cursor
	prefix []byte
	key    []byte // scratch
	placed bool   // the cursor stands somewhere
}

func newProbe(rows *bbolt.Bucket, prefix []byte) *probe {
	return &probe{c: rows.Cursor(), prefix: prefix}
}

// has reports whether there is an entry with a suffix.
func (p *probe) has(suffix []byte, oldestFirst bool) bool {
	p.key = append(append(p.key[:0], p.prefix...), suffix...)
	if p.placed {
		step := p.c.Prev
		if oldestFirst {
			step = p.c.Next
		}
		if key, sealed := step(); bytes.Equal(key, p.key) {
			unseal(key, sealed)
			return true
		}
	}
	p.placed = true
	return seek(p.c, p.key) != nil
}

// back moves to the last key before the one that a Seek has found, which may be nil.
func back(c *bbolt.Cursor, found []byte) (key, value []byte) {
	if found == nil {
		return c.Last()
	}
	if key, value = c.Prev(); key == nil && c.Bucket().Writable() {
		return backOverEmptied(c, found)
	}
	return key, value
}

// backOverEmptied is back where bbolt's Prev may stand in a page that the transaction has taken everything from: there
// it returns nil, and goes on when it is called again.
func backOverEmptied(c *bbolt.Cursor, found []byte) (key, value []byte) {
	if first, _ := c.First(); bytes.Compare(first, found) >= 0 {
		return nil, nil
	}
	for c.Seek(found); key == nil; {
		key, value = c.Prev()
	}
	return key, value
}

// before moves to the last key before another.
func before(c *bbolt.Cursor, end []byte) (key, value []byte) {
	found, _ := c.Seek(end)
	return back(c, found)
}
