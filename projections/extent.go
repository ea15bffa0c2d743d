package projections

import (
	"bytes"
	"iter"
	"math"
	"slices"

	"go.etcd.io/bbolt"
)

// extent is the entries that an index has at one value, or those of a time among them.
type extent struct {
	prefix []byte // of the keys of the index at the value
	window
	runs  bool // the entries are cut into runs
	total int  // how many entries there are; of a timed extent without runs, how many the range has
}

// window is a part of a range: the entries from one suffix to before another. Both are nil where there is no bound.
type window struct{ from, to []byte }

func (k *kind[S]) newExtent(rows *bbolt.Bucket, id byte, value string) *extent {
	return &extent{prefix: appendRange(nil, id, value), runs: k.ranged, total: int(tallyAt(rows, id, value).count)}
}

// limit leaves the entries of a time, both ends included.
func (s *extent) limit(rows *bbolt.Bucket, from, to int64) {
	s.from = appendTime(nil, from)
	if to < math.MaxInt64 {
		s.to = appendTime(nil, to+1)
	}
	if s.runs {
		s.total = countBetween(rows, s.prefix, s.from, s.to)
	}
}

// of returns the entries of a block that are in the window. before is that all of the block lie before it, behind that all
// of it lie behind.
func (s *window) of(list []entry) (in []entry, before, behind bool) {
	from, to := 0, len(list)
	if s.from != nil {
		from, _ = slices.BinarySearchFunc(list, s.from, compareSuffix)
	}
	if s.to != nil {
		to, _ = slices.BinarySearchFunc(list, s.to, compareSuffix)
	}
	return list[min(from, to):to], from == len(list), to == 0
}

// reader walks over an extent from one end to the other.
type reader struct {
	window
	*blocks
	oldestFirst   bool
	left          []entry // of the block where it stands: what is not walked over yet
	suffix, value []byte  // where it stands; the suffix is nil behind the end
}

// read returns a reader that stands at the first entry.
func (s *extent) read(rows *bbolt.Bucket, oldestFirst bool) *reader {
	r := &reader{window: s.window, blocks: newBlocks(rows, s.prefix), oldestFirst: oldestFirst}
	switch {
	case oldestFirst && s.from != nil && r.find(s.from):
		r.enter()
	case oldestFirst:
		r.loadNext(r.c.Seek(s.prefix))
	case s.to != nil:
		r.loadNext(before(r.c, r.keyOf(s.to)))
	default:
		r.loadNext(before(r.c, after(s.prefix)))
	}
	return r
}

// loadNext goes on with the block at a key, if that is one of the range.
func (r *reader) loadNext(key, value []byte) {
	r.load(key, value)
	r.enter()
}

// enter stands at the first entry of the block that was loaded, or of the first one that has any.
func (r *reader) enter() {
	r.left = nil
	for len(r.entries) > 0 {
		in, before, behind := r.of(r.entries)
		if len(in) > 0 || !before && !behind || before != r.oldestFirst {
			r.left = in
			break
		}
		r.load(r.step())
	}
	r.stand()
}

// step moves the cursor from a key to its neighbour.
func (r *reader) step() (key, value []byte) {
	if r.oldestFirst {
		return r.c.Next()
	}
	if key, value = r.c.Prev(); key == nil && r.c.Bucket().Writable() {
		return before(r.c, r.at)
	}
	return key, value
}

func (r *reader) stand() {
	if len(r.left) == 0 {
		r.suffix, r.value = nil, nil
		return
	}
	e := &r.left[0]
	if !r.oldestFirst {
		e = &r.left[len(r.left)-1]
	}
	r.suffix, r.value = e.suffix, e.value
}

func (r *reader) next() { r.skip(1) }

// skip goes on by n entries, or to the end.
func (r *reader) skip(n int) {
	for n >= len(r.left) && len(r.left) > 0 {
		n -= len(r.left)
		n = r.turn(n)
	}
	switch {
	case n == 0 || len(r.left) == 0:
		return
	case r.oldestFirst:
		r.left = r.left[n:]
	default:
		r.left = r.left[:len(r.left)-n]
	}
	r.stand()
}

// turn goes on with the next block; of an extent that is a whole range, with the first that is not among the next n entries, which are not
// looked at, and returns how many of those are left.
func (r *reader) turn(n int) int {
	key, value := r.step()
	for r.from == nil && r.to == nil && n > 0 && bytes.HasPrefix(key, r.prefix) {
		count := countBlock(key, value)
		if count > n {
			break
		}
		n -= count
		key, value = r.step()
	}
	r.loadNext(key, value)
	return n
}

// before reports whether an entry comes before another.
func (r *reader) before(other []byte) bool {
	order := bytes.Compare(r.suffix, other)
	return order < 0 && r.oldestFirst || order > 0 && !r.oldestFirst
}

// entries yields the extents' entries together, from one end to the other, without the first skip. What is skipped of one
// extent is counted by runs, and by blocks.
func entries(rows *bbolt.Bucket, extents []*extent, oldestFirst bool, skip int) iter.Seq2[[]byte, []byte] {
	return func(yield func(suffix, value []byte) bool) {
		if len(extents) == 1 && extents[0].runs {
			rest := *extents[0]
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

// suffixes yields the suffixes of a range's entries that are not before one, the oldest first.
func suffixes(rows *bbolt.Bucket, prefix, from []byte) iter.Seq[[]byte] {
	return func(yield func(suffix []byte) bool) {
		s := extent{prefix: prefix, window: window{from: from}}
		for r := s.read(rows, true); r.suffix != nil && yield(r.suffix); r.next() {
		}
	}
}
