package projections

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// A row of an indexed table begins with the sequence of the event that put it, which its index entries carry too.

// read returns the value at key and the sequence that put it. Its panics are of type [damage]: a [domain.Table] has no
// way to say that the file under it is broken, and "not found" would be a lie to decide on.
func (k *kind[S]) read(rows *bbolt.Bucket, key []byte) (s S, seq uint64, ok bool) {
	b := fetch(rows, key)
	if b == nil {
		return s, 0, false
	}
	s, seq = k.mustParse(key[1:], b)
	return s, seq, true
}

// mustParse is parse that panics as read does.
func (k *kind[S]) mustParse(name, b []byte) (s S, seq uint64) {
	s, seq, err := k.parse(name, b)
	if err != nil {
		panic(damage{fmt.Errorf("%s %q: %w", k.name, nameIn(name), err)})
	}
	return s, seq
}

// parse decodes a row whose key ends with name.
func (k *kind[S]) parse(name, b []byte) (s S, seq uint64, err error) {
	if len(k.indexes) > 0 {
		var n int
		if seq, n = binary.Uvarint(b); n <= 0 {
			return s, 0, fmt.Errorf("row without a sequence")
		}
		b = b[n:]
	}
	s, err = k.decode(name, b)
	return s, seq, err
}
