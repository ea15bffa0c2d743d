package projections

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// change is one key of a table that a batch has touched: what was there before the batch, and what is there now.
type change[S any] struct {
	key         string
	was, is     bool // whether there was and is an entity
	put         bool // whether the batch has put or deleted it
	seqWas, seq uint64
	old         *S // where there was one
	now         S
}

// pending is a table during a batch: an overlay that remembers what it has read, so that the batch reads each key at
// most once and writes it at most once.
type pending[S any] struct {
	*kind[S]
	rows    *bbolt.Bucket
	seq     *uint64 // of the event that is being folded
	changes map[string]*change[S]
	order   []*change[S]
	slab    []change[S]
	empty   bool // the table was empty before the batch: nothing to read

	key []byte // scratch
}

func newPending[S any](k *kind[S], b *batch) *pending[S] {
	p := &pending[S]{kind: k, rows: b.rows, seq: &b.seq, changes: map[string]*change[S]{}}
	p.empty = len(k.indexes) > 0 && b.count(k.indexes[0].id, "") == 0
	b.tables = append(b.tables, p)
	return p
}

// Get implements domain.Table.
func (p *pending[S]) Get(key string) (S, bool) {
	c := p.at(key, true)
	return c.now, c.is
}

// Put implements domain.Table.
func (p *pending[S]) Put(key string, s S) {
	c := p.at(key, len(p.indexes) > 0)
	c.now, c.is, c.put, c.seq = s, true, true, *p.seq
}

// Delete implements domain.Table.
func (p *pending[S]) Delete(key string) {
	var none S
	c := p.at(key, len(p.indexes) > 0)
	c.now, c.is, c.put, c.seq = none, false, true, *p.seq
}

// at returns the change of key. Without read, what was there before may be left out: only tables with indexes need it.
func (p *pending[S]) at(key string, read bool) *change[S] {
	if c, ok := p.changes[key]; ok {
		return c
	}
	if len(p.slab) == 0 {
		p.slab = make([]change[S], min(256, 1+len(p.changes)))
	}
	c := &p.slab[0]
	p.slab = p.slab[1:]
	c.key = key
	if read && !p.empty {
		p.key = appendRow(p.key[:0], p.id, key)
		if c.now, c.seqWas, c.was = p.read(p.rows, p.key); c.was {
			old := c.now
			c.old, c.is = &old, true
		}
	}
	p.changes[key] = c
	p.order = append(p.order, c)
	return c
}

// write implements table.
func (p *pending[S]) write(w *writer) error {
	g := w.in(p.id, "")
	for _, c := range p.order {
		if !c.put || !c.was && !c.is && len(p.indexes) > 0 {
			continue
		}
		if err := p.writeRow(w, g, c); err != nil {
			return fmt.Errorf("encode %s %q: %w", p.name, c.key, err)
		}
		name := p.key[1:]
		if c.was {
			p.index(w, c.old, c.seqWas, name, true)
		}
		if c.is {
			p.index(w, &c.now, c.seq, name, false)
		}
	}
	return nil
}

// writeRow leaves the row's key in p.key.
func (p *pending[S]) writeRow(w *writer, g *group, c *change[S]) error {
	p.key = appendRow(p.key[:0], p.id, c.key)
	if !c.is {
		w.delete(g, p.key)
		return nil
	}
	w.buf.Reset()
	if len(p.indexes) > 0 {
		w.buf.Write(binary.AppendUvarint(w.buf.AvailableBuffer(), c.seq))
	}
	if err := p.encode(&w.buf, &c.now); err != nil {
		return err
	}
	w.put(g, p.key, w.buf.Bytes())
	return nil
}
