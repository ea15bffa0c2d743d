package projections

import (
	"bytes"
	"slices"

	"go.etcd.io/bbolt"
)

// gaps are the places where a transaction of the file has no keys, of those that were looked at: what is added is looked
// for first, and names and ids are mostly given in order, by a few clients at once, so that one search finds many of
// them absent.
type gaps struct {
	tx    int   // the transaction
	known []gap // in order; no two of them overlap
}

// gap is between two keys that follow each other.
type gap struct {
	from []byte // empty where the keys begin
	to   []byte // nil where they end
}

// mostGaps bounds those that are known: one more, and they are found out anew.
const mostGaps = 64

// get returns the value at a key in a transaction, nil where the key is absent; c is a cursor of it.
func (g *gaps) get(c *bbolt.Cursor, key []byte) []byte {
	i, _ := slices.BinarySearchFunc(g.known, key, func(a gap, key []byte) int { return bytes.Compare(a.from, key) })
	if i > 0 && (g.known[i-1].to == nil || bytes.Compare(key, g.known[i-1].to) < 0) {
		return nil
	}
	value, before, next := seek(c, key)
	if value != nil {
		return value
	}
	if len(g.known) == mostGaps {
		i, g.known = 0, g.known[:0]
	}
	g.known = slices.Insert(g.known, i, gap{bytes.Clone(before), bytes.Clone(next)})
	return nil
}
