package projections

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// other is an index that an entity must be in too, at one value, to be found by a search.
type other struct {
	*search
	beside *reader // walked beside the search; nil where the entities are looked up one by one
}

// near is how many times as long as the range of a search another one may be to be walked beside it: to look an entry up
// takes about as long as to walk over twenty.
const near = 16

// follow has the entries of an index that is not much longer walked beside those of s. Both must be in the same order.
func (o *other) follow(rows *bbolt.Bucket, s *search, oldestFirst bool) {
	if s.shift || o.total > near*s.total {
		return
	}
	o.beside = o.extents[0].read(rows, oldestFirst)
}

// meets walks on to a suffix, which must lie behind those before, and reports whether there is an entry with it.
func (o *other) meets(suffix []byte) bool {
	for o.beside.suffix != nil {
		if bytes.Equal(o.beside.suffix, suffix) {
			return true
		}
		if !o.beside.before(suffix) {
			return false
		}
		o.beside.next()
	}
	return false
}
