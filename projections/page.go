package projections

import (
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// Page is a part of a list: what to leave out at its beginning, which is the newest, and how many to return. A Limit
// below 0 stands for Options.MaxPage; any other is the caller's own bound.
type Page = domain.Page

// pageOf answers a query.
func pageOf[S any](v *View, k *kind[S], p Page, filters []Filter) (list []S, total int, err error) {
	if p.Limit < 0 {
		p.Limit = v.d.maxPage
	}
	err = v.reading(func() error {
		s, err := k.search(v.rows, filters)
		if err != nil {
			return err
		}
		var names [][]byte
		if names, total, err = s.page(v, p); err != nil {
			return err
		}
		list = k.readAll(v.rows, names)
		return nil
	})
	return list, total, err
}

// Keys implements domain.Lists.
func (v *View) Keys(list string, p Page, filters ...Filter) (keys []string, total int, err error) {
	if p.Limit < 0 {
		p.Limit = v.d.maxPage
	}
	for _, t := range held[v.d.tables] {
		if t.called(list) {
			err = v.reading(func() error {
				keys, total, err = t.keys(v, p, filters)
				return err
			})
			return keys, total, err
		}
	}
	return nil, 0, fmt.Errorf("%s has no list %q", v.d.tables, list)
}

// keys implements stored.
func (k *kind[S]) keys(v *View, p Page, filters []Filter) (keys []string, total int, err error) {
	s, err := k.search(v.rows, filters)
	if err != nil {
		return nil, 0, err
	}
	names, total, err := s.page(v, p)
	keys = make([]string, len(names))
	for i, name := range names {
		keys[i] = nameIn(name)
	}
	return keys, total, err
}

// reading runs what reads v.rows, once the file has all that the view is to show.
func (v *View) reading(f func() error) error {
	if err := v.flushed(); err != nil {
		return err
	}
	return v.d.noteDamage(guarded(f))
}

// readAll reads the entities with the names, which are row keys without their first byte.
func (k *kind[S]) readAll(rows *bbolt.Bucket, names [][]byte) []S {
	list := make([]S, 0, len(names))
	var key []byte
	for _, name := range names {
		key = append(append(key[:0], k.id), name...)
		s, _, ok := k.read(rows, key)
		if !ok {
			panic(damage{fmt.Errorf("%s %q is in an index and not there", k.name, nameIn(name))})
		}
		list = append(list, s)
	}
	return list
}

// bounds refuses an offset beyond the end. EdgeX 2.3 does so only for offsets above the total, so that the page right
// behind the last is empty, and never where nothing is asked for.
func bounds(p Page, total int) error {
	if p.Limit != 0 && p.Offset > total {
		return domain.Errorf(domain.OutOfRange, "query objects bounds out of range. length:%d", total)
	}
	return nil
}

// page returns the names on the page and the total.
func (s *search) page(v *View, p Page) (names [][]byte, total int, err error) {
	p.Offset = max(p.Offset, 0)
	total = s.total
	if !s.counted() {
		names, total = s.scan(v.rows, p)
		return names, total, bounds(p, total)
	}
	if err := bounds(p, total); err != nil {
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
