package projections

import (
	"bytes"
	"iter"

	"go.etcd.io/bbolt"
)

// extent is the entries that an index has at one value, or those of a time among them.
type extent struct {
	prefix []byte // of all entries of the index at the value
	from   []byte // the first key that may be in the extent
	to     []byte // the first key that is behind it
	timed  bool   // the extent is a part of what has the prefix
	runs   bool   // the entries are cut into runs
	total  int    // how many entries there are; of a timed extent without runs, how many have the prefix
}

func (k *kind[S]) newExtent(rows *bbolt.Bucket, id byte, value string) *extent {
	prefix := appendRange(nil, id, value)
	return &extent{
		prefix: prefix, from: prefix, to: after(prefix),
		runs: k.ranged, total: int(tallyAt(rows, id, value).count),
	}
}

// limit leaves the entries of a time, both ends included.
func (s *extent) limit(rows *bbolt.Bucket, from, to int64) {
	s.timed = true
	s.from = appendTime(bytes.Clone(s.prefix), from)
	s.to = after(appendTime(bytes.Clone(s.prefix), to))
	if s.runs {
		s.total = countBetween(rows, s.prefix, s.from, s.to)
	}
}

// holds reports whether a key, nil or of another index perhaps, is in the extent.
func (s *extent) holds(key []byte) bool {
	return bytes.HasPrefix(key, s.prefix) &&
		(!s.timed || bytes.Compare(key, s.from) >= 0 && bytes.Compare(key, s.to) < 0)
}

// reader walks over an extent from one end to the other.
type reader struct {
	*extent
	c             *bbolt.Cursor
	oldestFirst   bool
	suffix, value []byte // where it stands; the suffix is nil behind the end
}

// read returns a reader that stands at the first entry.
func (s *extent) read(rows *bbolt.Bucket, oldestFirst bool) *reader {
	r := &reader{extent: s, c: rows.Cursor(), oldestFirst: oldestFirst}
	if oldestFirst {
		r.stand(r.c.Seek(s.from))
	} else if k, _ := r.c.Seek(s.to); k == nil {
		r.stand(r.c.Last())
	} else {
		r.stand(r.c.Prev())
	}
	return r
}

func (r *reader) stand(key, value []byte) {
	r.suffix, r.value = nil, value
	if r.holds(key) {
		r.suffix = key[len(r.prefix):]
	}
}

func (r *reader) next() {
	if r.oldestFirst {
		r.stand(r.c.Next())
	} else {
		r.stand(r.c.Prev())
	}
}

// skip goes on by n entries, which must be there.
func (r *reader) skip(n int) {
	if n == 0 {
		return
	}
	step := r.c.Prev
	if r.oldestFirst {
		step = r.c.Next
	}
	for range n - 1 {
		step()
	}
	r.stand(step())
}

// before reports whether an entry comes before another.
func (r *reader) before(other []byte) bool {
	order := bytes.Compare(r.suffix, other)
	return order < 0 && r.oldestFirst || order > 0 && !r.oldestFirst
}

// entries yields the suffixes and the values of the extents' entries together, from one end to the other, without the first
// skip. What is skipped of one extent is counted by runs.
func entries(rows *bbolt.Bucket, extents []*extent, oldestFirst bool, skip int) iter.Seq2[[]byte, []byte] {
	return func(yield func(suffix, value []byte) bool) {
		if len(extents) == 1 && extents[0].runs {
			rest := *extents[0]
			rest.timed = true
			rest.from, rest.to, skip = skipRuns(rows, rest.prefix, rest.from, rest.to, skip, oldestFirst)
			extents = []*extent{&rest}
		}
		if len(extents) == 1 {
			r := extents[0].read(rows, oldestFirst)
			for r.skip(skip); r.suffix != nil && yield(r.suffix, r.value); r.next() {
			}
			return
		}
		readers := make([]*reader, len(extents))
		for i, s := range extents {
			readers[i] = s.read(rows, oldestFirst)
		}
		for {
			var r *reader
			for _, one := range readers {
				if one.suffix != nil && (r == nil || one.before(r.suffix)) {
					r = one
				}
			}
			if r == nil || skip == 0 && !yield(r.suffix, r.value) {
				return
			}
			skip = max(0, skip-1)
			r.next()
		}
	}
}
