package fold

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"
)

// Past is the part of a list as of an event that the file does not have any more.
type Past struct {
	Seq uint64
	// Former has the entities of the list that later events have changed or removed, as they were.
	Former iter.Seq[Former]
}

// Former is an entity as the event of a sequence has put it.
type Former struct {
	Name   string
	Seq    uint64
	At     int64               // its time in the first index
	Entity func() (any, error) // reads it, for the filters; it is of the type of the table
}

// namesAsOf returns the names on a page of a list as of an earlier event, and the total. It goes over all entries that the filters keep,
// and leaves out the entries of later events.
func namesAsOf[S any](t *Table[S], v *View, past *Past, p Page, filters []Filter) (names [][]byte, total int, err error) {
	s, err := t.search(v.rows, filters)
	if err != nil {
		return nil, 0, err
	}
	if s.shift {
		return nil, 0, fmt.Errorf("list %s: there is no past of lists by time", t.Name)
	}
	then, err := newSuffixes(t, past.Former, filters)
	if err != nil {
		return nil, 0, err
	}
	p.Offset = max(p.Offset, 0)
	for suffix := range mergeSuffixes(s.upTo(v.rows, past.Seq), then) {
		if total >= p.Offset && len(names) < p.Limit {
			names = append(names, suffix[suffixHead:])
		}
		total++
	}
	return names, total, v.d.bounds(p, total)
}

// upTo yields the entries that pass, newest first, without the entries of events after a sequence.
func (s *search) upTo(rows *bbolt.Bucket, seq uint64) iter.Seq[[]byte] {
	return func(yield func(suffix []byte) bool) {
		for suffix := range s.passing(rows, false, 0) {
			if seqOf(suffix) <= seq && !yield(suffix) {
				return
			}
		}
	}
}

// newSuffixes returns the entries that the entities had, newest first, if the filters keep them.
func newSuffixes[S any](t *Table[S], former iter.Seq[Former], filters []Filter) (list [][]byte, err error) {
	keeps := make([]func(S) bool, len(filters))
	for i, f := range filters {
		if keeps[i], err = newCondition(t, f); err != nil {
			return nil, err
		}
	}
	for f := range former {
		kept, err := isKept(t, f, keeps)
		if err != nil {
			return nil, err
		}
		if kept {
			suffix := binary.BigEndian.AppendUint64(appendTime(nil, f.At), f.Seq)
			list = append(list, appendName(suffix, f.Name))
		}
	}
	slices.SortFunc(list, func(a, b []byte) int { return bytes.Compare(b, a) })
	return list, nil
}

// isKept reports whether an entity passes all tests.
func isKept[S any](t *Table[S], f Former, keeps []func(S) bool) (bool, error) {
	if len(keeps) == 0 {
		return true, nil
	}
	one, err := f.Entity()
	if err != nil {
		return false, err
	}
	entity, ok := one.(S)
	if !ok {
		return false, fmt.Errorf("list %s: an entity of type %T", t.Name, one)
	}
	return !slices.ContainsFunc(keeps, func(keep func(S) bool) bool { return !keep(entity) }), nil
}

// newCondition returns a test whether a filter keeps an entity.
func newCondition[S any](t *Table[S], f Filter) (keep func(S) bool, err error) {
	all := append([]Filter{f}, f.Or...)
	indexes := make([]*Index[S], len(all))
	for i, one := range all {
		if indexes[i], err = t.find(one); err != nil {
			return nil, err
		}
	}
	return func(entity S) bool {
		for i, one := range all {
			wanted := values(one)
			if slices.ContainsFunc(indexes[i].of(nil, entity), func(v string) bool { return slices.Contains(wanted, v) }) {
				return !f.Without
			}
		}
		return f.Without
	}, nil
}

// mergeSuffixes yields the entries of two lists, newest first, and an entry of both once. Both have an entity if it was changed after the
// view was opened. The former entities then have it as the view has it, with the same entry.
func mergeSuffixes(now iter.Seq[[]byte], then [][]byte) iter.Seq[[]byte] {
	return func(yield func(suffix []byte) bool) {
		for suffix := range now {
			for ; len(then) > 0 && bytes.Compare(then[0], suffix) > 0; then = then[1:] {
				if !yield(then[0]) {
					return
				}
			}
			if len(then) > 0 && bytes.Equal(then[0], suffix) {
				then = then[1:]
			}
			if !yield(suffix) {
				return
			}
		}
		for _, suffix := range then {
			if !yield(suffix) {
				return
			}
		}
	}
}
