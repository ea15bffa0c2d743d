package projections

import (
	"bytes"
	"slices"

	"go.etcd.io/bbolt"
)

// writer gathers what an overlay changes in the file, to write it in the order of the keys: neighbours are then written
// while their page is at hand. It is used again for the next one.
type writer struct {
	groups map[place]*group
	last   [1 << 8]*group // by table or index, the group that was asked for last
	order  []*group
	spare  []*group
	buf    bytes.Buffer
	// scratch
	key, block []byte
	scratch    [16 + sumLength]byte
	values     []string
}

// place is a value of an index, or, without value, a table.
type place struct {
	id    byte
	value string
}

// group is what changes in one place. Its operations are most often in order already, because they come in the order
// of the events, as times and sequences do. Those of a range are packed into its blocks.
type group struct {
	place
	prefix []byte
	ops    []*op
	more   tally // what there is more than before
	runs   bool  // the entries are cut into runs
	fresh  bool  // a range that has no entries yet
}

// op puts value at key, or deletes the key. In a range, the key is a suffix, and those of other indexes may have it too.
type op struct {
	key, value []byte
	delete     bool
	border     border // in a range
}

// fill is how full bbolt leaves a page that it splits. Most keys come at the end of what they sort into.
const fill = 0.9

const (
	// What is kept for the next overlay, beside what is as much as this one has taken.
	keptGroups = 256
	keptOps    = 1 << 15 // in all groups
)

func newWriter() *writer {
	return &writer{groups: map[place]*group{}}
}

// in returns the group of a place.
func (w *writer) in(id byte, value string) *group {
	if g := w.last[id]; g != nil && g.value == value {
		return g
	}
	at := place{id, value}
	g, ok := w.groups[at]
	if !ok {
		g = w.begin(at)
	}
	w.last[id] = g
	return g
}

// begin makes the group of a place.
func (w *writer) begin(at place) *group {
	g := w.take()
	g.place = at
	if at.id < indexID {
		g.prefix = append(g.prefix[:0], at.id)
	} else {
		g.prefix = appendRange(g.prefix[:0], at.id, at.value)
	}
	w.groups[at] = g
	w.order = append(w.order, g)
	return g
}

func (w *writer) take() *group {
	if n := len(w.spare); n > 0 {
		g := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return g
	}
	return &group{}
}

// put takes a value that is sealed.
func (w *writer) put(g *group, key, value []byte) {
	w.add(g, op{key: bytes.Clone(key), value: bytes.Clone(value)})
}

func (w *writer) delete(g *group, key []byte) {
	w.add(g, op{key: bytes.Clone(key), delete: true})
}

func (w *writer) add(g *group, o op) { g.ops = append(g.ops, &o) }

// flush writes everything to rows.
func (w *writer) flush(rows *bbolt.Bucket) error {
	rows.FillPercent = fill
	slices.SortFunc(w.order, func(a, b *group) int { return bytes.Compare(a.prefix, b.prefix) })
	for _, g := range w.order {
		if err := w.flushCount(rows, g); err != nil {
			return err
		}
	}
	p := &packing{blocks: newBlocks(rows, nil), writer: w, rows: rows}
	for _, g := range w.order {
		slices.SortFunc(g.ops, func(a, b *op) int { return bytes.Compare(a.key, b.key) })
		if err := g.write(p); err != nil {
			return err
		}
	}
	return nil
}

// write brings the operations, which are in order, to the file.
func (g *group) write(p *packing) error {
	if g.id >= indexID {
		if err := p.pack(g); err != nil || !g.runs {
			return err
		}
		return g.recount(p.rows, p.writer, p.c)
	}
	for _, o := range g.ops {
		if err := o.apply(p.rows); err != nil {
			return err
		}
	}
	return nil
}

func (o *op) apply(rows *bbolt.Bucket) error {
	if o.delete {
		return rows.Delete(o.key)
	}
	return rows.Put(o.key, o.value)
}

func (w *writer) flushCount(rows *bbolt.Bucket, g *group) error {
	if g.more == (tally{}) {
		return nil
	}
	w.key = appendCount(w.key[:0], g.id, g.value)
	n := readTally(fetch(rows, w.key))
	g.fresh = n.count == 0
	n.add(g.more)
	if n.count <= 0 {
		return rows.Delete(w.key)
	}
	return rows.Put(w.key, bytes.Clone(seal(w.key, n.append(w.scratch[:0]))))
}

// reset forgets what was flushed, and keeps some of the memory for the next flush.
func (w *writer) reset() {
	clear(w.groups)
	clear(w.last[:])
	if len(w.order) > keptGroups {
		w.groups, w.order, w.spare = map[place]*group{}, nil, nil
	}
	kept := 0
	for _, g := range w.order {
		if kept += cap(g.ops); kept <= keptOps {
			clear(g.ops)
			*g = group{prefix: g.prefix, ops: g.ops[:0]}
			w.spare = append(w.spare, g)
		}
	}
	clear(w.order)
	w.order = w.order[:0]
}
