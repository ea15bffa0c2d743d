package projections

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// The entries of a range, that is of an index at one value, are cut into runs, so that those between two times are
// counted, and an offset is skipped, without a look at each. Which entries begin a run is decided by a hash of their
// suffix: so the runs depend on nothing but what is in the range. At the entry that begins a run is how many there are
// in the run before it. The last run has no counter, so that what is appended to a range changes none.

// runID is what the key of a run's counter begins with; the key of the entry at which the next run begins follows.
const runID byte = 0x3f

// runLength is how many entries a run has in the mean: one in so many begins one. Tests alone change it.
var runLength = 1 << 10

// runs walks over the counters of a range.
type runs struct {
	c      *bbolt.Cursor
	prefix []byte // runID and that of the range
}

func newRuns(c *bbolt.Cursor, prefix []byte) *runs {
	return &runs{c, append([]byte{runID}, prefix...)}
}

// key is that of the counter at the entry with a suffix.
func (r *runs) key(suffix []byte) []byte { return append(bytes.Clone(r.prefix), suffix...) }

// at returns the suffix of the entry at which a run begins and what is in the run before, or nil for a key that is none of the range.
func (r *runs) at(key, value []byte) (begin []byte, n int) {
	if !bytes.HasPrefix(key, r.prefix) {
		return nil, 0
	}
	return key[len(r.prefix):], int(readTally(unseal(key, value)).count)
}

// from moves to the first run that begins at a suffix or behind it.
func (r *runs) from(suffix []byte) (begin []byte, n int) { return r.at(r.c.Seek(r.key(suffix))) }

// before moves to the last run that begins before a suffix, or, where that is nil, to the last one.
func (r *runs) before(suffix []byte) (begin []byte, n int) {
	if suffix == nil {
		return r.at(before(r.c, after(r.prefix)))
	}
	return r.at(before(r.c, r.key(suffix)))
}

func (r *runs) next() (begin []byte, n int) { return r.at(r.c.Next()) }

func (r *runs) prev(begin []byte) (_ []byte, n int) { return r.at(before(r.c, r.key(begin))) }

// countEntries counts the entries of a range from one suffix to before another, block by block.
func countEntries(rows *bbolt.Bucket, prefix, from, to []byte) (n int) {
	s := extent{prefix: prefix, window: window{from, to}}
	for r := s.read(rows, true); len(r.left) > 0; r.turn(0) {
		n += len(r.left)
	}
	return n
}

// precedes reports whether a suffix lies before another, which is nil where nothing ends.
func precedes(suffix, to []byte) bool { return to == nil || bytes.Compare(suffix, to) < 0 }

// countBetween counts the entries of a range from one suffix to before another: it looks at the parts of the runs at both ends.
func countBetween(rows *bbolt.Bucket, prefix, from, to []byte) (n int) {
	r := newRuns(rows.Cursor(), prefix)
	at, counted := from, false
	for begin, more := r.from(from); begin != nil && precedes(begin, to); begin, more = r.next() {
		if !counted {
			more = countEntries(rows, prefix, from, begin)
		}
		n, at, counted = n+more, begin, true
	}
	return n + countEntries(rows, prefix, at, to)
}

// skipRuns passes over whole runs of the entries from one suffix to before another, from either end, n entries at most. It
// returns what is left of the range, and of n.
func skipRuns(rows *bbolt.Bucket, prefix, from, to []byte, n int, oldestFirst bool) (_, _ []byte, left int) {
	if n < runLength {
		return from, to, n
	}
	r := newRuns(rows.Cursor(), prefix)
	if oldestFirst {
		begin, _ := r.from(from)
		for size := -1; begin != nil && precedes(begin, to); begin, size = r.next() {
			if size < 0 {
				size = countEntries(rows, prefix, from, begin)
			}
			if size > n {
				break
			}
			from, n = begin, n-size
		}
		return from, to, n
	}
	begin, size := r.before(to)
	for more := -1; begin != nil && bytes.Compare(begin, from) >= 0; begin, size = r.prev(begin) {
		if more < 0 {
			more = countEntries(rows, prefix, begin, to)
		}
		if more > n {
			break
		}
		to, n, more = begin, n-more, size
	}
	return from, to, n
}

// recount brings the runs of a group's range up to date with its operations, which are in rows and in order.
func (g *group) recount(rows *bbolt.Bucket, w *writer, c *bbolt.Cursor) error {
	r := newRuns(c, g.prefix)
	for _, o := range g.ops {
		if o.border == beginsRun {
			if err := w.markRun(rows, r, o); err != nil {
				return err
			}
		}
	}
	for ops := g.ops; len(ops) > 0; {
		first, again := ops[0], false
		if !first.delete && first.border == beginsRun {
			if err := g.countRun(rows, w, r, first.key); err != nil {
				return err
			}
		}
		end, n := r.from(append(bytes.Clone(first.key), 0))
		for ; len(ops) > 0 && precedes(ops[0].key, end); ops = ops[1:] {
			if again = again || ops[0].border == beginsRun; ops[0].delete {
				n--
			} else {
				n++
			}
		}
		var err error
		if end != nil && again {
			err = g.countRun(rows, w, r, end)
		} else if end != nil {
			err = w.putRun(rows, r, end, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countRun counts the run before an entry that begins one.
func (g *group) countRun(rows *bbolt.Bucket, w *writer, r *runs, end []byte) error {
	begin, _ := r.before(end)
	return w.putRun(rows, r, end, countEntries(rows, g.prefix, begin, end))
}

func (w *writer) putRun(rows *bbolt.Bucket, r *runs, end []byte, n int) error {
	key := r.key(end)
	return rows.Put(bytes.Clone(key), bytes.Clone(seal(key, tally{count: int64(n)}.append(w.scratch[:0]))))
}

// markRun adds or removes the counter of the run before an entry that begins one. The count comes later.
func (w *writer) markRun(rows *bbolt.Bucket, r *runs, o *op) error {
	if o.delete {
		return rows.Delete(r.key(o.key))
	}
	return w.putRun(rows, r, o.key, 0)
}
