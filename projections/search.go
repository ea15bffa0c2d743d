package projections

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// search is the range of an index that a query walks, and what the entities in it are tested for.
type search struct {
	prefix []byte // of all entries of the index at the value
	from   []byte // the first key that may be in the range
	to     []byte // the first key that is behind it
	total  int    // how many entries have the prefix
	timed  bool   // the range is a part of what has the prefix
	shift  bool   // the entries are in an order of their own, see pending.other
	others [][]byte
	key    []byte
}

// search plans a query: it walks the time asked for, or else the filter with the fewest entries, and tests the others.
func (k *kind[S]) search(rows *bbolt.Bucket, filters []Filter) (*search, error) {
	if len(filters) == 0 {
		return newSearch(rows, k.indexes[0].id, ""), nil
	}
	found := make([]*search, len(filters))
	best := 0
	for i, f := range filters {
		x, err := k.find(f)
		if err != nil {
			return nil, err
		}
		s := newSearch(rows, x.id, f.Value)
		if f.Index == between {
			s.limit(f, x.name == created)
		}
		found[i] = s
		if b := found[best]; i > 0 && s.timed && b.timed {
			return nil, fmt.Errorf("list %s: two times asked for", k.name)
		} else if s.timed || !b.timed && s.total < b.total {
			best = i
		}
	}
	chosen := found[best]
	for i, s := range found {
		if i != best {
			chosen.others = append(chosen.others, s.prefix)
		}
	}
	return chosen, nil
}

func newSearch(rows *bbolt.Bucket, id byte, value string) *search {
	prefix := appendRange(nil, id, value)
	return &search{
		prefix: prefix, from: prefix, to: after(prefix),
		total: int(number(rows.Get(appendCount(nil, id, value)))),
	}
}

func (s *search) limit(f Filter, shift bool) {
	s.timed, s.shift = true, shift
	s.from = appendTime(append([]byte(nil), s.prefix...), f.From)
	s.to = after(appendTime(append([]byte(nil), s.prefix...), f.To))
}

// counted reports whether the total needs no walk.
func (s *search) counted() bool { return !s.timed && len(s.others) == 0 }

// first moves c to the oldest entry.
func (s *search) first(c *bbolt.Cursor) (key, value []byte) { return c.Seek(s.from) }

// last moves c to the newest entry, or in front of the range where it is empty.
func (s *search) last(c *bbolt.Cursor) (key, value []byte) {
	if k, _ := c.Seek(s.to); k == nil {
		return c.Last()
	}
	return c.Prev()
}

// passes reports whether the entity of an entry is in all the other indexes.
func (s *search) passes(rows *bbolt.Bucket, suffix, value []byte) bool {
	for _, prefix := range s.others {
		s.key = append(s.key[:0], prefix...)
		if s.shift {
			s.key = append(append(s.key, value...), suffix[len(value):]...)
		} else {
			s.key = append(s.key, suffix...)
		}
		if rows.Get(s.key) == nil {
			return false
		}
	}
	return true
}
