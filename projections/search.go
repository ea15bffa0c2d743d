package projections

import (
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// search is what a query walks, and what the entities in it are tested for.
type search struct {
	spans  []*span  // of one index, without an entity in common
	total  int      // how many entries the spans have
	shift  bool     // the entries are in an order of their own, see entry, and the total is not known
	others []*probe // the ranges of other indexes that an entity must be in too
	tests  []test
	key    []byte
}

// test is passed by an entity that is in any of the ranges, or, with without, in none.
type test struct {
	ranges  []*probe
	without bool
}

// search plans a query: it walks the filter with the fewest entries, within the time asked for, and tests the others.
// Where lists are in another order than the time asked for, it walks the time.
func (k *kind[S]) search(rows *bbolt.Bucket, filters []Filter) (*search, error) {
	p, err := k.plan(filters)
	if err != nil {
		return nil, err
	}
	var found []*search
	best := 0
	for i, a := range p.ranges {
		found = append(found, k.newSearch(rows, a, p.time))
		if !found[best].shift && found[i].total < found[best].total {
			best = i
		}
	}
	s := found[best]
	for i, o := range found {
		if i != best {
			s.others = append(s.others, newProbe(rows, o.spans[0].prefix))
		}
	}
	for _, a := range p.tests {
		s.tests = append(s.tests, newTest(rows, a))
	}
	return s, nil
}

// asked is a filter with its index.
type asked struct {
	Filter
	id    byte
	shift bool // the index has an order of its own
}

// plan is filters as they are answered.
type plan struct {
	ranges []asked // one at least; that with a shift is the first
	tests  []asked
	time   *Filter // what the ranges are limited to
}

func (k *kind[S]) plan(filters []Filter) (p plan, err error) {
	for _, f := range once(filters) {
		x, err := k.find(f)
		if err != nil {
			return p, err
		}
		a := asked{f, x.id, x.name == created}
		switch {
		case f.Index == domain.IndexTime && p.time != nil:
			return p, fmt.Errorf("list %s: two times asked for", k.name)
		case f.Index == domain.IndexTime:
			if p.time = &f; k.shift == 0 {
				p.ranges = slices.Insert(p.ranges, 0, a)
			}
		case walked(f):
			p.ranges = append(p.ranges, a)
		default:
			p.tests = append(p.tests, a)
		}
	}
	switch {
	case len(p.ranges) > 0:
	case k.shift > 0 && len(p.tests) > 0 && !p.tests[0].Without:
		p.ranges, p.tests = p.tests[:1], p.tests[1:]
	default:
		p.ranges = []asked{{id: k.indexes[0].id}}
	}
	return p, nil
}

// newSearch returns what is walked for a filter.
func (k *kind[S]) newSearch(rows *bbolt.Bucket, a asked, time *Filter) *search {
	s := &search{shift: a.shift}
	for _, v := range slices.Compact(slices.Sorted(slices.Values(values(a.Filter)))) {
		one := k.newSpan(rows, a.id, v)
		if time != nil && (k.shift > 0 || a.Index == domain.IndexTime) {
			one.limit(rows, time.From, time.To)
		}
		s.spans, s.total = append(s.spans, one), s.total+one.total
	}
	return s
}

func newTest(rows *bbolt.Bucket, a asked) test {
	t := test{without: a.Without}
	for _, v := range values(a.Filter) {
		t.ranges = append(t.ranges, newProbe(rows, appendRange(nil, a.id, v)))
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

// counted reports whether the total needs no walk.
func (s *search) counted() bool { return !s.shift && len(s.others) == 0 && len(s.tests) == 0 }

// passing yields the suffixes of the entries that pass all tests, from one end to the other, without the first skip
// entries, which are not tested.
func (s *search) passing(rows *bbolt.Bucket, oldestFirst bool, skip int) iter.Seq[[]byte] {
	return func(yield func(suffix []byte) bool) {
		for suffix, value := range entries(rows, s.spans, oldestFirst, skip) {
			if s.passes(suffix, value, oldestFirst) && !yield(suffix) {
				return
			}
		}
	}
}

// passes reports whether the entity of an entry is in all the other indexes and passes the tests.
func (s *search) passes(suffix, value []byte, oldestFirst bool) bool {
	if s.shift && len(s.others)+len(s.tests) > 0 {
		s.key = append(append(s.key[:0], value...), suffix[len(value):]...)
		suffix = s.key
	}
	for _, o := range s.others {
		if !o.has(suffix, oldestFirst) {
			return false
		}
	}
	in := func(p *probe) bool { return p.has(suffix, oldestFirst) }
	for _, t := range s.tests {
		if slices.ContainsFunc(t.ranges, in) == t.without {
			return false
		}
	}
	return true
}
