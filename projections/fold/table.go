package fold

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"slices"

	"go.etcd.io/bbolt"
)

// Table is one kind of entities in a file: where the rows are, how they are written, and which indexes they have. It does not change once a file is open.
type Table[S any] struct {
	// ID is the first byte of its rows' keys: from FirstTable to LastTable, and of no other table of the file.
	ID   byte
	Name string
	Codec[S]
	// Indexes has the list of all entities first. A table without indexes is not counted, and its rows do not say which event put them.
	Indexes []Index[S]
	// Shift, if it is not 0, says that lists are in the order of the time that a filter by time asks for, and that an entity has one value in
	// each index at most: so what any filter keeps of a time is a span of its own index. A bucket of that is 2^Shift units of its time.
	Shift uint
	// Weigh, if there is one, is what the indexes' counters sum up beside the number of entities.
	Weigh func(S) int64
	// Parts, if there is one, forgets with an entity what is a part of it, and returns how many rows those were.
	Parts func(f *Forgetting, s S) (n int)
}

// Codec turns the values of one table into bytes and back. Encode appends to dst, and changes nothing of what it gets; Decode,
// which gets the name in the row's key too, see [NameIn], keeps nothing of it and b.
type Codec[S any] struct {
	Encode func(dst *bytes.Buffer, s *S) error
	Decode func(name, b []byte) (S, error)
	// Canonical, if there is one, makes of a value what comes back from Encode and Decode.
	Canonical func(S) S
	Row       reflect.Type // what is encoded, if that is not S
}

// Index is one order of a table's entities: for each value that an entity has, an entry at the entity's time. The
// entries with one value are neighbours, oldest first, so that a page is a walk of a cursor from either end.
type Index[S any] struct {
	// ID is the first byte of the entries' keys: FirstIndex or more, and of no other index of the file.
	ID   byte
	Name string
	// Values appends what the entity is found by; nil: the list of all.
	Values func(dst []string, s S) []string
	// At is the time that the entries are sorted by; nil: that of the first index.
	At func(s S) int64
	// Note appends some bytes of the entity that its entries keep, so that [Notes] reads them without a look at the row; nil: none.
	Note func(dst []byte, s S) []byte
}

// The names of indexes that mean something here. All others are in the order of All.
const (
	All     = ""        // every entity, by the time that lists are sorted by
	Created = "created" // every entity, by another time: a filter by time asks for that
	Written = "written" // every entity, by the event that put it: what [DB.Forget] goes by
)

// of appends the values of s in the index, each once.
func (x *Index[S]) of(dst []string, s S) []string {
	if x.Values == nil {
		return append(dst, "")
	}
	from := len(dst)
	found := x.Values(dst, s)
	dst = found[:from]
	for _, v := range found[from:] {
		if v != "" && !slices.Contains(dst[from:], v) {
			dst = append(dst, v)
		}
	}
	return dst
}

// index returns the index with a name, nil if there is none.
func (t *Table[S]) index(name string) *Index[S] {
	for i := range t.Indexes {
		if t.Indexes[i].Name == name {
			return &t.Indexes[i]
		}
	}
	return nil
}

// AnyTable is a [Table] of whatever type, for what is done to all tables alike.
type AnyTable interface {
	// Called reports whether the table has a name.
	Called(name string) bool
	// Keys returns the names of the entities on a page of their list, see [Table.List]. One that is too long for a key is cut. With past
	// the list is the one as of an earlier event.
	Keys(v *View, past *Past, p Page, filters []Filter) (keys []string, total int, err error)

	owns(id byte) bool
	// save returns a row for a snapshot, load makes the row of it again.
	save(key, value []byte) (SnapshotRow, error)
	load(r SnapshotRow) (memrow, error)
	layout(w io.Writer)
	write(c *bbolt.Cursor, w *writer, r memrow)
	// forget takes at most so many rows away that events before a sequence have put, the oldest first.
	forget(f *Forgetting, most int) (n int)
	// first returns the first sequence that has put a row that is there, in a table that forgets; else the largest number.
	first(rows *bbolt.Bucket) uint64
}

// Called implements [AnyTable].
func (t *Table[S]) Called(name string) bool { return t.Name == name }

func (t *Table[S]) owns(id byte) bool { return t.ID == id }

// A row of a table with indexes begins with the sequence of the event that put it, which its index entries carry too.

// encodeRow appends the row of a value that the event of a sequence has put. It makes the value canonical.
func (t *Table[S]) encodeRow(dst *bytes.Buffer, s *S, seq uint64) error {
	if t.Canonical != nil {
		*s = t.Canonical(*s)
	}
	if len(t.Indexes) > 0 {
		dst.Write(binary.AppendUvarint(dst.AvailableBuffer(), seq))
	}
	return t.Encode(dst, s)
}

// parse decodes a row whose key ends with name.
func (t *Table[S]) parse(name, b []byte) (s S, seq uint64, err error) {
	if len(t.Indexes) > 0 {
		var n int
		if seq, n = binary.Uvarint(b); n <= 0 {
			return s, 0, fmt.Errorf("row without a sequence")
		}
		b = b[n:]
	}
	s, err = t.Decode(name, b)
	return s, seq, err
}

// mustParse is parse that panics with a [damage].
func (t *Table[S]) mustParse(name, b []byte) (s S, seq uint64) {
	s, seq, err := t.parse(name, b)
	if err != nil {
		panic(damage{fmt.Errorf("%s %q: %w", t.Name, NameIn(name), err)})
	}
	return s, seq
}

// read returns the value at key and the sequence that put it. Its panics are of type [damage]: a table of a State has no
// way to say that the file under it is broken, and "not found" would be a lie to decide on.
func (t *Table[S]) read(rows *bbolt.Bucket, key []byte) (s S, seq uint64, ok bool) {
	b := get(rows, key)
	if b == nil {
		return s, 0, false
	}
	s, seq = t.mustParse(key[1:], b)
	return s, seq, true
}

// readAll reads the entities with the names, which are row keys without their first byte.
func (t *Table[S]) readAll(rows *bbolt.Bucket, names [][]byte) []S {
	list := make([]S, 0, len(names))
	var key []byte
	for _, name := range names {
		key = append(append(key[:0], t.ID), name...)
		s, _, ok := t.read(rows, key)
		if !ok {
			panic(damage{fmt.Errorf("%s %q is in an index and not there", t.Name, NameIn(name))})
		}
		list = append(list, s)
	}
	return list
}
