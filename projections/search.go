package projections

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// search is the range of an index that a query walks, and what the entities in it are tested for.
type search struct {
	prefix []byte // of all entries of the index at the value
	from   []byte // the first key that may be in the range
	to     []byte // the first key that is behind it
	total  int    // how many entries have the prefix
	timed  bool   // the range is a part of what has the prefix
	shift  bool   // the entries are in an order of their own, see pending.other
	others []*other
	tests  []test
	key    []byte
}

// test is passed by an entity that is in any of the ranges, or, with without, in none.
type test struct {
	prefixes [][]byte
	without  bool
}

// search plans a query: it walks the time asked for, or else the filter with the fewest entries, and tests the others.
func (k *kind[S]) search(rows *bbolt.Bucket, filters []Filter) (*search, error) {
	var found []*search
	var tests []test
	best := 0
	for _, f := range once(filters) {
		x, err := k.find(f)
		if err != nil {
			return nil, err
		}
		if !walked(f) {
			tests = append(tests, newTest(x.id, f))
			continue
		}
		s := newSearch(rows, x.id, f.Value)
		if f.Index == domain.IndexTime {
			s.limit(f, x.name == created)
		}
		found = append(found, s)
		if b, i := found[best], len(found)-1; i > 0 && s.timed && b.timed {
			return nil, fmt.Errorf("list %s: two times asked for", k.name)
		} else if s.timed || !b.timed && s.total < b.total {
			best = i
		}
	}
	if found == nil {
		found = []*search{newSearch(rows, k.indexes[0].id, "")}
	}
	chosen := found[best]
	chosen.tests = tests
	for i, s := range found {
		if i != best {
			chosen.others = append(chosen.others, &other{search: s})
		}
	}
	return chosen, nil
}

func newTest(id byte, f Filter) test {
	t := test{without: f.Without}
	for _, v := range values(f) {
		t.prefixes = append(t.prefixes, appendRange(nil, id, v))
	}
	return t
}

// once leaves out what is there twice: what a query costs is bounded by what there is to find, not by how it is asked.
func once(filters []Filter) []Filter {
	if len(filters) < 2 {
		return filters
	}
	type named struct{ index, value string }
	seen := make(map[named]bool, len(filters))
	var kept []Filter
	for _, f := range filters {
		one := named{f.Index, f.Value}
		if f.Index == domain.IndexTime || !walked(f) || !seen[one] {
			kept = append(kept, f)
		}
		if walked(f) {
			seen[one] = true
		}
	}
	return kept
}

func newSearch(rows *bbolt.Bucket, id byte, value string) *search {
	prefix := appendRange(nil, id, value)
	return &search{
		prefix: prefix, from: prefix, to: after(prefix),
		total: int(tallyAt(rows, id, value).count),
	}
}

func (s *search) limit(f Filter, shift bool) {
	s.timed, s.shift = true, shift
	s.from = appendTime(append([]byte(nil), s.prefix...), f.From)
	s.to = after(appendTime(append([]byte(nil), s.prefix...), f.To))
}

// counted reports whether the total needs no walk.
func (s *search) counted() bool { return !s.timed && len(s.others) == 0 && len(s.tests) == 0 }

// passing yields the suffixes of the entries in the range that pass all tests, from one end to the other, without the first skip entries, which are not tested.
func (s *search) passing(rows *bbolt.Bucket, oldestFirst bool, skip int) iter.Seq[[]byte] {
	return func(yield func(suffix []byte) bool) {
		for _, o := range s.others {
			o.follow(rows, s, oldestFirst)
		}
		c := rows.Cursor()
		k, v := s.end(c, oldestFirst)
		for range skip {
			k, v = step(c, oldestFirst)
		}
		for ; s.holds(k); k, v = step(c, oldestFirst) {
			suffix := k[len(s.prefix):]
			if s.passes(rows, suffix, v) && !yield(suffix) {
				return
			}
		}
	}
}

// end moves c to the oldest or the newest entry, or out of the range where it is empty.
func (s *search) end(c *bbolt.Cursor, oldest bool) (key, value []byte) {
	if oldest {
		return c.Seek(s.from)
	}
	if k, _ := c.Seek(s.to); k == nil {
		return c.Last()
	}
	return c.Prev()
}

func step(c *bbolt.Cursor, oldestFirst bool) (key, value []byte) {
	if oldestFirst {
		return c.Next()
	}
	return c.Prev()
}

// holds reports whether a key, nil or of another index perhaps, is in the range.
func (s *search) holds(key []byte) bool {
	return bytes.HasPrefix(key, s.prefix) &&
		(!s.timed || bytes.Compare(key, s.from) >= 0 && bytes.Compare(key, s.to) < 0)
}

// passes reports whether the entity of an entry is in all the other indexes and passes the tests.
func (s *search) passes(rows *bbolt.Bucket, suffix, value []byte) bool {
	for _, o := range s.others {
		if o.cursor != nil && !o.meets(suffix) || o.cursor == nil && !s.in(rows, o.prefix, suffix, value) {
			return false
		}
	}
	for _, t := range s.tests {
		in := func(prefix []byte) bool { return s.in(rows, prefix, suffix, value) }
		if slices.ContainsFunc(t.prefixes, in) == t.without {
			return false
		}
	}
	return true
}

// in reports whether the entity of an entry is in another range.
func (s *search) in(rows *bbolt.Bucket, prefix, suffix, value []byte) bool {
	s.key = append(s.key[:0], prefix...)
	if s.shift {
		s.key = append(append(s.key, value...), suffix[len(value):]...)
	} else {
		s.key = append(s.key, suffix...)
	}
	return rows.Get(s.key) != nil
}
