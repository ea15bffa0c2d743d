package fold

import (
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"
)

// search is what a query walks, and what the entities in it are tested for.
type search struct {
	spans []*span
	total int  // how many entries the spans have
	shift bool // the entries are in an order of their own, see entry, and the total is not known
	union bool // the spans may have entities in common, so that the total is not known
	tests []test
	key   []byte
}

// test is passed by an entity that is in any of the ranges, or, with without, in none.
type test struct {
	ranges  []*probe
	without bool
}

// search plans a query: it walks the filter with the fewest entries, within the time asked for, and tests the others.
// Where lists are in another order than the time asked for, it walks the time.
func (t *Table[S]) search(rows *bbolt.Bucket, filters []Filter) (*search, error) {
	p, err := t.plan(filters)
	if err != nil {
		return nil, err
	}
	var found []*search
	best := 0
	for i, a := range p.ranges {
		found = append(found, t.newSearch(rows, a, p.time))
		if !found[best].shift && found[i].total < found[best].total {
			best = i
		}
	}
	s := found[best]
	for i, a := range p.ranges {
		if i != best {
			s.tests = append(s.tests, newTest(rows, a))
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
	or    []asked
}

// plan is filters as they are answered.
type plan struct {
	ranges []asked // one at least; that with a shift is the first
	tests  []asked
	time   *Filter // what the ranges are limited to
}

func (t *Table[S]) plan(filters []Filter) (p plan, err error) {
	seen := map[[2]string]bool{} // what a query costs is bounded by what there is to find, not by how it is asked
	for _, f := range filters {
		x, err := t.find(f)
		if err != nil {
			return p, err
		}
		a := asked{Filter: f, id: x.ID, shift: x.Name == Created}
		for _, or := range f.Or {
			x, err := t.find(or)
			if err != nil {
				return p, err
			}
			a.or = append(a.or, asked{Filter: or, id: x.ID})
		}
		switch {
		case f.Index == Time && p.time != nil:
			return p, fmt.Errorf("list %s: two times asked for", t.Name)
		case f.Index == Time:
			if p.time = &f; t.Shift == 0 {
				p.ranges = slices.Insert(p.ranges, 0, a)
			}
		case !f.Without && len(f.Any) == 0 && len(f.Or) == 0: // one range of the index
			if one := [2]string{f.Index, f.Value}; !seen[one] {
				seen[one] = true
				p.ranges = append(p.ranges, a)
			}
		default:
			p.tests = append(p.tests, a)
		}
	}
	switch {
	case len(p.ranges) > 0:
	case len(p.tests) > 0 && !p.tests[0].Without && (t.Shift > 0 || len(p.tests[0].or) > 0):
		p.ranges, p.tests = p.tests[:1], p.tests[1:]
	default:
		p.ranges = []asked{{id: t.Indexes[0].ID}}
	}
	return p, nil
}

// newSearch returns what is walked for a filter.
func (t *Table[S]) newSearch(rows *bbolt.Bucket, a asked, time *Filter) *search {
	s := &search{shift: a.shift, union: len(a.or) > 0}
	for _, part := range append([]asked{a}, a.or...) {
		for _, v := range slices.Compact(slices.Sorted(slices.Values(values(part.Filter)))) {
			one := t.newSpan(rows, part.id, v)
			if time != nil && (t.Shift > 0 || part.Index == Time) {
				one.limit(rows, time.From, time.To)
			}
			s.spans, s.total = append(s.spans, one), s.total+one.total
		}
	}
	return s
}

func newTest(rows *bbolt.Bucket, a asked) test {
	t := test{without: a.Without}
	for _, one := range append([]asked{a}, a.or...) {
		for _, v := range values(one.Filter) {
			t.ranges = append(t.ranges, newProbe(rows, appendRange(nil, one.id, v)))
		}
	}
	return t
}

// counted reports whether the total needs no walk.
func (s *search) counted() bool { return !s.shift && !s.union && len(s.tests) == 0 }

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

// passes reports whether the entity of an entry passes the tests.
func (s *search) passes(suffix, value []byte, oldestFirst bool) bool {
	if s.shift && len(s.tests) > 0 {
		s.key = append(append(s.key[:0], value...), suffix[len(value):]...)
		suffix = s.key
	}
	in := func(p *probe) bool { return p.has(suffix, oldestFirst) }
	for _, t := range s.tests {
		if slices.ContainsFunc(t.ranges, in) == t.without {
			return false
		}
	}
	return true
}

// Filter keeps the entities that an index has at Value.
type Filter struct {
	Index, Value string
	// Any, if it is not empty, stands for Value: an entity is kept that has any of them.
	Any []string
	// Or are further filters by index: an entity that one of them finds is kept too. Their own Without and Or do not count.
	Or []Filter
	// Without keeps the entities that do not have it instead.
	Without bool
	// From and To bound the time of the index [Time], both included. A list that has them is in the order of that time.
	From, To int64
}

// Time is the index of a Filter of a time: that of [Created], or, if there is none and lists are in the order of that time, that of [All].
const Time = "between"

// values are those that f asks for.
func values(f Filter) []string {
	if len(f.Any) > 0 {
		return f.Any
	}
	return []string{f.Value}
}

// find returns the index that f names.
func (t *Table[S]) find(f Filter) (*Index[S], error) {
	if f.Index != Time {
		if x := t.index(f.Index); x != nil && x.Values != nil {
			return x, nil
		}
		return nil, fmt.Errorf("list %s: there is no index %q", t.Name, f.Index)
	}
	if x := t.index(Created); x != nil {
		return x, nil
	}
	if t.Shift > 0 {
		return &t.Indexes[0], nil
	}
	return nil, fmt.Errorf("list %s: there is no index by time", t.Name)
}

// Page is a part of a list: how many to leave out at its beginning, which is the newest, and how many to return.
type Page struct{ Offset, Limit int }

// List returns the entities on a page, newest first, by the time of the first index, or by that of a filter of a time; what was put by the later event
// comes first among equals. total is how many there are on all pages. An offset beyond total is an [OutOfRange].
func (t *Table[S]) List(v *View, p Page, filters []Filter) (list []S, total int, err error) {
	err = v.Read(func() (err error) {
		var names [][]byte
		if names, total, err = t.names(v, p, filters); err == nil {
			list = t.readAll(v.rows, names)
		}
		return err
	})
	return list, total, err
}

// Keys implements [AnyTable].
func (t *Table[S]) Keys(v *View, past *Past, p Page, filters []Filter) (keys []string, total int, err error) {
	err = v.Read(func() (err error) {
		var names [][]byte
		if past == nil {
			names, total, err = t.names(v, p, filters)
		} else {
			names, total, err = namesAsOf(t, v, past, p, filters)
		}
		keys = make([]string, len(names))
		for i, name := range names {
			keys[i] = NameIn(name)
		}
		return err
	})
	return keys, total, err
}

// names returns the names on a page, as they are in keys, and the total.
func (t *Table[S]) names(v *View, p Page, filters []Filter) (names [][]byte, total int, err error) {
	s, err := t.search(v.rows, filters)
	if err != nil {
		return nil, 0, err
	}
	return s.page(v, p)
}

// OutOfRange says that an offset is beyond the total of a list.
type OutOfRange struct{ Total int }

func (e *OutOfRange) Error() string {
	return fmt.Sprintf("query objects bounds out of range. length:%d", e.Total)
}

// bounds refuses an offset beyond the end. EdgeX 2.3 does so only for offsets above the total, so that the page right
// behind the last is empty, and never where nothing is asked for.
func (d *DB) bounds(p Page, total int) error {
	if p.Limit != 0 && p.Offset > total {
		return d.wrap(&OutOfRange{total})
	}
	return nil
}

// page returns the names on the page and the total.
func (s *search) page(v *View, p Page) (names [][]byte, total int, err error) {
	p.Offset = max(p.Offset, 0)
	total = s.total
	if !s.counted() {
		names, total = s.scan(v.rows, p)
		return names, total, v.d.bounds(p, total)
	}
	if err := v.d.bounds(p, total); err != nil {
		return nil, total, err
	}
	return s.walk(v.rows, p, total), total, nil
}

// walk takes a page of the entries that pass, from the end that is nearer. The spans have all of them.
func (s *search) walk(rows *bbolt.Bucket, p Page, total int) (names [][]byte) {
	n := min(p.Limit, total-p.Offset)
	if n <= 0 {
		return nil
	}
	before, behind := p.Offset, total-p.Offset-n
	oldestFirst := behind < before
	names = make([][]byte, 0, n)
	for suffix := range s.passing(rows, oldestFirst, min(before, behind)) {
		if names = append(names, suffix[suffixHead:]); len(names) == n {
			break
		}
	}
	if len(names) < n {
		panic(damage{fmt.Errorf("index %x has fewer entries than its counters say, %d", s.spans[0].prefix, total)})
	}
	if oldestFirst {
		slices.Reverse(names)
	}
	return names
}

// scan goes over all that pass, newest first, and takes the page of them.
func (s *search) scan(rows *bbolt.Bucket, p Page) (names [][]byte, total int) {
	for suffix := range s.passing(rows, false, 0) {
		if total >= p.Offset && len(names) < p.Limit {
			names = append(names, suffix[suffixHead:])
		}
		total++
	}
	return names, total
}
