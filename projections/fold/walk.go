package fold

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
)

// What is here reads what lists show. It is for f of [View.Read].

// Entry is what an index has of an entity.
type Entry struct{ suffix []byte }

// Time is what the index is sorted by.
func (e Entry) Time() int64 { return timeOf(e.suffix) }

// Seq is the sequence of the event that put the entity.
func (e Entry) Seq() uint64 { return seqOf(e.suffix) }

// Name is the entity's. One that is too long for a key is cut.
func (e Entry) Name() string { return NameIn(e.suffix[suffixHead:]) }

// Walk yields the entries that the filters keep, oldest first.
func (t *Table[S]) Walk(v *View, filters ...Filter) (iter.Seq[Entry], error) {
	s, err := t.search(v.rows, filters)
	if err != nil {
		return nil, err
	}
	return asEntries(s.passing(v.rows, true, 0)), nil
}

// NewestUntil returns the newest entry that an index has at a value until a time, which is included.
func NewestUntil[S any](v *View, t *Table[S], filter Filter, until int64) (e Entry, ok bool, err error) {
	x, err := t.find(filter)
	if err != nil {
		return e, false, err
	}
	s := span{prefix: appendRange(nil, x.ID, filter.Value)}
	if until < math.MaxInt64 {
		s.to = appendTime(nil, until+1)
	}
	r := s.read(v.rows, false)
	if r.key == nil {
		return e, false, nil
	}
	return Entry{bytes.Clone(r.suffix())}, true, nil
}

// Notes yields the entries that an index has at a value, of the time of the filter, oldest first, each with its [Index.Note]. It begins
// behind the entry after; with the zero Entry it begins at the first.
func Notes[S any](v *View, t *Table[S], filter Filter, after Entry) (iter.Seq2[Entry, []byte], error) {
	x, err := t.find(filter)
	if err != nil {
		return nil, err
	}
	s := &span{prefix: appendRange(nil, x.ID, filter.Value)}
	s.boundTime(filter.From, filter.To)
	if after.suffix != nil {
		s.from = append(bytes.Clone(after.suffix), 0)
	}
	return func(yield func(Entry, []byte) bool) {
		for r := s.read(v.rows, true); r.key != nil && yield(Entry{r.suffix()}, r.value); r.next() {
		}
	}, nil
}

// Place returns a text that stands for the entry in [EntryAt].
func (e Entry) Place() string { return string(e.suffix) }

// EntryAt returns the entry that a Place is of; "" is the zero Entry.
func EntryAt(place string) (e Entry) {
	if place != "" {
		e.suffix = []byte(place)
	}
	return e
}

// WrittenSince yields the entries of the index [Written] from a sequence on.
func (t *Table[S]) WrittenSince(v *View, seq uint64) iter.Seq[Entry] {
	from := binary.BigEndian.AppendUint64(appendTime(nil, 0), seq)
	return asEntries(suffixes(v.rows, appendRange(nil, t.index(Written).ID, ""), from))
}

func asEntries(suffixes iter.Seq[[]byte]) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for suffix := range suffixes {
			if !yield(Entry{suffix}) {
				return
			}
		}
	}
}

// FirstWritten returns the first sequence that has put a row that is there, of all tables with the index [Written]; the one behind the
// checkpoint if there is no such row.
func (v *View) FirstWritten() uint64 { return min(v.filed.Seq+1, v.d.firstWritten(v.rows)) }

// Entity reads the entity of an entry.
func (t *Table[S]) Entity(v *View, e Entry) S {
	return t.readAll(v.rows, [][]byte{e.suffix[suffixHead:]})[0]
}

// Size returns how many bytes the row of an entry takes.
func (t *Table[S]) Size(v *View, e Entry) int {
	return len(v.rows.Get(append([]byte{t.ID}, e.suffix[suffixHead:]...)))
}

// Has reports whether there is anything at a name.
func (t *Table[S]) Has(v *View, name string) bool {
	return get(v.rows, appendRow(nil, t.ID, name)) != nil
}

// After reads the first entity behind a name, in the order of the keys.
func (t *Table[S]) After(v *View, name string) (s S, ok bool) {
	last := appendRow(nil, t.ID, name)
	c := v.rows.Cursor()
	key, _ := c.Seek(last)
	if bytes.Equal(key, last) {
		key, _ = c.Next()
	}
	if len(key) > 0 && key[0] == t.ID {
		s, _, ok = t.read(v.rows, key)
	}
	return s, ok
}

// Value is what an index has at one value.
type Value struct {
	Count, Weight int64 // see [Table.Weigh]
	prefix        []byte
	text          []byte
}

// Values yields the values of an index behind one, in the order of the keys. Each costs the look-up of a counter, however many entries it has.
func (t *Table[S]) Values(v *View, index, after string) (iter.Seq[Value], error) {
	x, err := t.find(Filter{Index: index})
	if err != nil {
		return nil, err
	}
	return func(yield func(Value) bool) {
		from, c := appendCount(nil, x.ID, after), v.rows.Cursor()
		key, sealed := c.Seek(from)
		if bytes.Equal(key, from) {
			key, sealed = c.Next()
		}
		for prefix := from[:2]; bytes.HasPrefix(key, prefix); key, sealed = c.Next() {
			n, text := readTally(unseal(key, sealed)), key[len(prefix):]
			if !yield(Value{n.count, n.weight, appendRangeAt(nil, x.ID, text), text}) {
				return
			}
		}
	}, nil
}

// First reads the oldest entity that has a value.
func (t *Table[S]) First(v *View, value Value) S {
	for suffix := range suffixes(v.rows, value.prefix, nil) {
		return t.readAll(v.rows, [][]byte{suffix[suffixHead:]})[0]
	}
	panic(damage{fmt.Errorf("%s: value %q has a counter and no entries", t.Name, value.text)})
}
