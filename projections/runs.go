package projections

import (
	"bytes"
	"encoding/binary"

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

// beginsRun reports whether a run begins at the entry with a suffix.
func beginsRun(suffix []byte) bool {
	h := binary.BigEndian.Uint64(suffix) ^ seqOf(suffix)*0x9e3779b97f4a7c15
	for _, c := range suffix[suffixHead:] {
		h = (h ^ uint64(c)) * 0x100000001b3 // FNV-1a
	}
	h ^= h >> 33 // the mixer of MurmurHash3
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h%uint64(runLength) == 0
}

func runKey(entry []byte) []byte { return append([]byte{runID}, entry...) }

// runs walks over the counters of a range.
type runs struct {
	c      *bbolt.Cursor
	prefix []byte
}

// at returns the entry at which a run begins and what is in the run before, or nil for a key that is none of the range.
func (r *runs) at(key, value []byte) (entry []byte, n int) {
	if len(key) == 0 || key[0] != runID || !bytes.HasPrefix(key[1:], r.prefix) {
		return nil, 0
	}
	return key[1:], int(readTally(value).count)
}

// from moves to the first run that begins at a key or behind it.
func (r *runs) from(key []byte) (entry []byte, n int) { return r.at(r.c.Seek(runKey(key))) }

// before moves to the last run that begins before a key.
func (r *runs) before(key []byte) (entry []byte, n int) {
	if k, _ := r.c.Seek(runKey(key)); k == nil {
		return r.at(r.c.Last())
	}
	return r.at(r.c.Prev())
}

func (r *runs) next() (entry []byte, n int) { return r.at(r.c.Next()) }
func (r *runs) prev() (entry []byte, n int) { return r.at(r.c.Prev()) }

// countEntries walks over the entries from one key to before another.
func countEntries(c *bbolt.Cursor, from, to []byte) (n int) {
	for key, _ := c.Seek(from); key != nil && bytes.Compare(key, to) < 0; key, _ = c.Next() {
		n++
	}
	return n
}

// countBetween counts the entries of a range from one key to before another: it walks the parts of the runs at both ends.
func countBetween(rows *bbolt.Bucket, prefix, from, to []byte) (n int) {
	c, r := rows.Cursor(), &runs{rows.Cursor(), prefix}
	at, counted := from, false
	for entry, more := r.from(from); entry != nil && bytes.Compare(entry, to) <= 0; entry, more = r.next() {
		if !counted {
			more = countEntries(c, from, entry)
		}
		n, at, counted = n+more, entry, true
	}
	return n + countEntries(c, at, to)
}

// skipRuns passes over whole runs of the entries from one key to before another, from either end, n entries at most. It
// returns what is left of the range, and of n.
func skipRuns(rows *bbolt.Bucket, prefix, from, to []byte, n int, oldestFirst bool) (_, _ []byte, left int) {
	if n < runLength {
		return from, to, n
	}
	c, r := rows.Cursor(), &runs{rows.Cursor(), prefix}
	if oldestFirst {
		entry, _ := r.from(from)
		for size := -1; entry != nil && bytes.Compare(entry, to) < 0; entry, size = r.next() {
			if size < 0 {
				size = countEntries(c, from, entry)
			}
			if size > n {
				break
			}
			from, n = entry, n-size
		}
		return from, to, n
	}
	entry, size := r.before(to)
	for more := -1; entry != nil && bytes.Compare(entry, from) >= 0; entry, size = r.prev() {
		if more < 0 {
			more = countEntries(c, entry, to)
		}
		if more > n {
			break
		}
		to, n, more = entry, n-more, size
	}
	return from, to, n
}

// recount brings the runs of a group's range up to date with its operations, which are in rows and in order.
func (g *group) recount(rows *bbolt.Bucket, w *writer, c *bbolt.Cursor) error {
	begins := func(o *op) bool { return beginsRun(o.key[len(g.prefix):]) }
	for i := range g.ops {
		if o := &g.ops[i]; begins(o) {
			if err := (&op{key: w.save(runKey(o.key)), delete: o.delete}).apply(rows); err != nil {
				return err
			}
		}
	}
	r := &runs{c, g.prefix}
	for ops := g.ops; len(ops) > 0; {
		first, again := &ops[0], false
		if !first.delete && begins(first) {
			if err := w.countRun(rows, r, first.key); err != nil {
				return err
			}
		}
		end, n := r.from(append(bytes.Clone(first.key), 0))
		for ; len(ops) > 0 && (end == nil || bytes.Compare(ops[0].key, end) < 0); ops = ops[1:] {
			if again = again || begins(&ops[0]); ops[0].delete {
				n--
			} else {
				n++
			}
		}
		var err error
		if end != nil && again {
			err = w.countRun(rows, r, bytes.Clone(end))
		} else if end != nil {
			err = w.putRun(rows, end, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countRun counts the run before an entry that begins one.
func (w *writer) countRun(rows *bbolt.Bucket, r *runs, end []byte) error {
	from, _ := r.before(end)
	if from == nil {
		from = r.prefix
	}
	return w.putRun(rows, end, countEntries(rows.Cursor(), from, end))
}

func (w *writer) putRun(rows *bbolt.Bucket, end []byte, n int) error {
	return rows.Put(w.save(runKey(end)), w.save(tally{count: int64(n)}.append(nil)))
}
