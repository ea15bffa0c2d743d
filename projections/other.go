package projections

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// other is an index that an entity must be in too to be found by a search.
type other struct {
	*search
	cursor      *bbolt.Cursor // walked beside the search; nil where the entities are looked up one by one
	oldestFirst bool
	at          []byte // the suffix where cursor stands; nil behind the end
}

// near is how many times as long as the range of a search another one may be to be walked beside it: to look an entry up
// takes about as long as to walk over twenty.
const near = 16

// follow has the entries of an index that is not much longer walked beside those of s. Both must be in the same order.
func (o *other) follow(rows *bbolt.Bucket, s *search, oldestFirst bool) {
	if s.timed || o.total > near*s.total {
		return
	}
	o.cursor, o.oldestFirst = rows.Cursor(), oldestFirst
	o.stand(o.end(o.cursor, oldestFirst))
}

func (o *other) stand(key, _ []byte) {
	if o.at = nil; bytes.HasPrefix(key, o.prefix) {
		o.at = key[len(o.prefix):]
	}
}

// meets walks on to a suffix, which must lie behind those before, and reports whether there is an entry with it.
func (o *other) meets(suffix []byte) bool {
	for o.at != nil {
		switch order := bytes.Compare(o.at, suffix); {
		case order == 0:
			return true
		case order > 0 == o.oldestFirst:
			return false
		}
		o.stand(step(o.cursor, o.oldestFirst))
	}
	return false
}
