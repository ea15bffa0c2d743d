package fold

import (
	"encoding/binary"
	"iter"
	"math"

	"go.etcd.io/bbolt"
)

// tally is a counter: how many entities an index has at a value, and, in a table that weighs them, their weight.
type tally struct{ count, weight int64 }

func (t *tally) add(more tally) { t.count, t.weight = t.count+more.count, t.weight+more.weight }

// append appends what readTally reads: 8 bytes for the count, and, if there is any weight, 8 for that.
func (t tally) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.count))
	if t.weight != 0 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(t.weight))
	}
	return dst
}

// readTally reads a counter; one that is absent is 0.
func readTally(b []byte) (t tally) {
	if len(b) >= 8 {
		t.count = int64(binary.BigEndian.Uint64(b))
	}
	if len(b) == 16 {
		t.weight = int64(binary.BigEndian.Uint64(b[8:]))
	}
	return t
}

func tallyAt(rows *bbolt.Bucket, index byte, value string) tally {
	return readTally(get(rows, appendCount(nil, index, value)))
}

// one is what s adds to the counters of its indexes.
func (t *Table[S]) one(s S) tally {
	if t.Weigh == nil {
		return tally{count: 1}
	}
	return tally{1, t.Weigh(s)}
}

// An index of a table whose lists are in the order of the time that Between asks for has a counter for each stretch of time, too: a
// bucket of 2^shift units of its time. So what is between two times is counted, and an offset is skipped, without a look at each entry.

// bucketOf returns the bucket of the entry with a suffix.
func bucketOf(suffix []byte, shift uint) uint64 { return binary.BigEndian.Uint64(suffix) >> shift }

// appendBucket appends the key of the counter of a bucket. The prefix is that of the entries.
func appendBucket(dst, prefix []byte, bucket uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append(dst, bucketID), prefix...), bucket)
}

// bucket is a part of a span that has one counter, and how many entries of the span there are in it.
type bucket struct {
	from, to []byte
	n        int
}

// buckets yields the parts of a span that have entries, from one end to the other. Those that lie in the span as a whole are not looked at.
func (s *span) buckets(rows *bbolt.Bucket, oldestFirst bool) iter.Seq[bucket] {
	return func(yield func(bucket) bool) {
		first, last := uint64(0), uint64(math.MaxUint64)>>s.shift
		if s.from != nil {
			first = bucketOf(s.from, s.shift)
		}
		if s.to != nil {
			last = bucketOf(s.to, s.shift)
		}
		counters := &span{prefix: append([]byte{bucketID}, s.prefix...), from: binary.BigEndian.AppendUint64(nil, first)}
		if last < math.MaxUint64 {
			counters.to = binary.BigEndian.AppendUint64(nil, last+1)
		}
		for r := counters.read(rows, oldestFirst); r.key != nil; r.next() {
			b := s.bucket(rows, binary.BigEndian.Uint64(r.suffix()), int(readTally(r.value).count))
			if b.n > 0 && !yield(b) {
				return
			}
		}
	}
}

// bucket returns what of a bucket of n entries is in the span.
func (s *span) bucket(rows *bbolt.Bucket, at uint64, n int) bucket {
	b := bucket{from: binary.BigEndian.AppendUint64(nil, at<<s.shift), n: n}
	if next := (at + 1) << s.shift; next != 0 {
		b.to = binary.BigEndian.AppendUint64(nil, next)
	}
	whole := true
	if s.from != nil && !precedes(s.from, b.from) && string(s.from) != string(b.from) {
		b.from, whole = s.from, false
	}
	if s.to != nil && precedes(s.to, b.to) {
		b.to, whole = s.to, false
	}
	if !whole {
		b.n = 0
		for r := (&span{prefix: s.prefix, from: b.from, to: b.to}).read(rows, true); r.key != nil; r.next() {
			b.n++
		}
	}
	return b
}

// count returns how many entries there are in a span.
func (s *span) count(rows *bbolt.Bucket) (n int) {
	for b := range s.buckets(rows, true) {
		n += b.n
	}
	return n
}

// walkedOver is how many entries are walked over rather than counted. Tests alone change it.
var walkedOver = 100

// skip takes buckets away from one end of a span, n entries at most, and returns what is left of n.
func (s *span) skip(rows *bbolt.Bucket, n int, oldestFirst bool) int {
	if s.shift == 0 || n < walkedOver {
		return n
	}
	for b := range s.buckets(rows, oldestFirst) {
		if b.n > n {
			break
		}
		if n -= b.n; oldestFirst {
			s.from = b.to
		} else {
			s.to = b.from
		}
	}
	return n
}
