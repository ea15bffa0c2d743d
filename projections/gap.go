package projections

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// gap reads keys, of which several that follow each other, as names do that are given in order, are found to be absent by one look.
type gap struct {
	c        *bbolt.Cursor
	from, to []byte // no key is between them, save at to; to is nil where the keys end; from is nil before the first look
}

// get returns what is at a key, nil where it is absent.
func (g *gap) get(key []byte) []byte {
	if g.from != nil && bytes.Compare(g.from, key) <= 0 && (g.to == nil || bytes.Compare(key, g.to) < 0) {
		return nil
	}
	next, value := g.c.Seek(key)
	if bytes.Equal(next, key) {
		return value
	}
	g.from, g.to = append(g.from[:0], key...), next
	return nil
}
