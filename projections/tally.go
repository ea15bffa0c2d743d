package projections

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// tally is a counter: how many entities an index has at a value, and, in a table that weighs them, their weight.
type tally struct{ count, weight int64 }

func (t *tally) add(more tally) { t.count, t.weight = t.count+more.count, t.weight+more.weight }
func (t *tally) take(less tally) {
	t.count, t.weight = t.count-less.count, t.weight-less.weight
}

// append appends what readTally reads: 8 bytes for the count, and, where there is any weight, 8 for that.
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
	return readTally(fetch(rows, appendCount(nil, index, value)))
}

// one is what s adds to the counters of its indexes.
func (k *kind[S]) one(s S) tally {
	if k.weigh == nil {
		return tally{count: 1}
	}
	return tally{1, k.weigh(s)}
}
