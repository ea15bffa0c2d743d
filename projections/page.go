package projections

import (
	"bytes"
	"errors"
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
	if err = v.settle(); err != nil {
		return nil, 0, err
	}
	err = guarded(func() error {
		s, err := k.search(v.rows, filters)
		if err != nil {
			return err
		}
		var names [][]byte
		if names, total, err = s.page(v.rows, p); err != nil {
			return err
		}
		list, err = k.readAll(v.rows, names)
		return err
	})
	if _, ok := errors.AsType[damage](err); ok {
		v.d.condemn(err)
	}
	return list, total, err
}

// readAll reads the entities with the names, which are row keys without their first byte.
func (k *kind[S]) readAll(rows *bbolt.Bucket, names [][]byte) ([]S, error) {
	list := make([]S, 0, len(names))
	var key []byte
	for _, name := range names {
		key = append(append(key[:0], k.id), name...)
		s, _, ok := k.read(rows, key)
		if !ok {
			panic(damage{fmt.Errorf("%s %q is in an index and not there", k.name, name)})
		}
		list = append(list, s)
	}
	return list, nil
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
func (s *search) page(rows *bbolt.Bucket, p Page) (names [][]byte, total int, err error) {
	p.Offset = max(p.Offset, 0)
	if s.counted() {
		total = s.total
		if err := bounds(p, total); err != nil {
			return nil, total, err
		}
		return s.walk(rows.Cursor(), p), total, nil
	}
	names, total = s.scan(rows, p)
	return names, total, bounds(p, total)
}

// walk takes a page of a range whose length is known, from the end that is nearer.
func (s *search) walk(c *bbolt.Cursor, p Page) (names [][]byte) {
	n := min(p.Limit, s.total-p.Offset)
	if n <= 0 {
		return nil
	}
	skip, step, key := p.Offset, c.Prev, s.last
	fromOldest := s.total-p.Offset-n < p.Offset
	if fromOldest {
		skip, step, key = s.total-p.Offset-n, c.Next, s.first
	}
	names = make([][]byte, 0, n)
	for k, _ := key(c); len(names) < n; k, _ = step() {
		if !bytes.HasPrefix(k, s.prefix) {
			panic(damage{fmt.Errorf("index %x has fewer entries than its counter says, %d", s.prefix, s.total)})
		}
		if skip > 0 {
			skip--
			continue
		}
		names = append(names, k[len(s.prefix)+suffixHead:])
	}
	if fromOldest {
		slices.Reverse(names)
	}
	return names
}

// scan tests every entry of a range, newest first, and takes the page of those that pass.
func (s *search) scan(rows *bbolt.Bucket, p Page) (names [][]byte, total int) {
	c := rows.Cursor()
	for k, v := s.last(c); k != nil && bytes.Compare(k, s.from) >= 0; k, v = c.Prev() {
		suffix := k[len(s.prefix):]
		if !s.passes(rows, suffix, v) {
			continue
		}
		if total >= p.Offset && len(names) < p.Limit {
			names = append(names, suffix[suffixHead:])
		}
		total++
	}
	return names, total
}
