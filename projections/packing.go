package projections

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// packing brings the operations of one group after the other to the blocks of its range: each block that they hit is read once
// and written once.
type packing struct {
	*blocks
	*writer
	rows  *bbolt.Bucket
	open  bool   // a block is being made
	begin []byte // its first suffix; empty: it is the range's first
	end   []byte // where the next block in the file begins; nil: there is none
}

// pack writes the operations of a group, which are in order.
func (p *packing) pack(g *group) error {
	p.prefix, p.end = g.prefix, nil
	for ops := g.ops; len(ops) > 0; {
		var begin, old, end []byte
		if !g.fresh {
			begin, old, end = p.around(ops[0].key)
		}
		n := 1
		for n < len(ops) && (end == nil || bytes.Compare(ops[n].key, end) < 0) {
			n++
		}
		if err := p.enter(begin, ops[0]); err != nil {
			return err
		}
		if err := p.merge(begin, old, ops[:n]); err != nil {
			return err
		}
		p.end, ops = end, ops[n:]
	}
	return p.close()
}

// around returns where the block with a suffix begins, what is in it, and where the next one begins.
func (p *packing) around(suffix []byte) (begin, old, end []byte) {
	at := p.keyOf(suffix)
	key, value := p.c.Seek(at)
	if bytes.Equal(key, at) {
		next, _ := p.c.Next()
		return p.suffixOf(key), unseal(key, value), p.suffixOf(next)
	}
	end = p.suffixOf(key)
	if key, value = back(p.c, key); bytes.HasPrefix(key, p.prefix) {
		return p.suffixOf(key), unseal(key, value), end
	}
	return nil, nil, end
}

// suffixOf returns the suffix in a key, nil for one of another range.
func (p *packing) suffixOf(key []byte) []byte {
	if !bytes.HasPrefix(key, p.prefix) {
		return nil
	}
	return key[len(p.prefix):]
}

// enter makes ready for the block that begins at a suffix, in which o is the first operation. What is left of a block
// whose first entry goes is added to the one before.
func (p *packing) enter(begin []byte, o *op) error {
	if !o.delete || len(begin) == 0 || !bytes.Equal(begin, o.key) {
		return p.start(begin)
	}
	if p.open && bytes.Equal(p.end, begin) {
		return nil
	}
	key, value := before(p.c, p.keyOf(begin))
	if err := p.start(p.suffixOf(key)); err != nil {
		return err
	}
	if bytes.HasPrefix(key, p.prefix) {
		p.block = append(p.block, unseal(key, value)...)
	}
	return nil
}

// merge adds the entries of a block, as the operations leave them. Where one begins a block, the rest goes to that.
func (p *packing) merge(begin, old []byte, ops []*op) error {
	n := valueLength(p.prefix[0])
	from, at := 0, 0 // in old: what is not added yet, and what is not looked at
	for _, o := range ops {
		order, next := -1, at
		for order < 0 && at < len(old) {
			first, last, end := entryAt(old, at, n)
			if end < 0 || first == last && len(begin) == 0 {
				return damage{errBlock}
			}
			suffix := old[first:last]
			if first == last {
				suffix = begin
			}
			if order, next = bytes.Compare(suffix, o.key), end; order < 0 {
				at = end
			}
		}
		p.block = append(p.block, old[from:at]...)
		if from = at; order == 0 {
			from, at = next, next
		}
		if err := p.apply(o); err != nil {
			return err
		}
	}
	for rest := at; rest >= 0 && rest < len(old); { // what is copied is what is there
		if _, _, rest = entryAt(old, rest, n); rest < 0 {
			return damage{errBlock}
		}
	}
	p.block = append(p.block, old[from:]...)
	return nil
}

// apply adds an entry; one that is deleted was left out before.
func (p *packing) apply(o *op) error {
	switch {
	case o.delete && o.border != inside:
		return p.rows.Delete(p.keyOf(o.key))
	case o.delete:
		return nil
	case o.border != inside:
		if err := p.start(o.key); err != nil {
			return err
		}
		p.block = appendEntry(p.block, nil, o.value)
		return nil
	}
	p.block = appendEntry(p.block, o.key, o.value)
	return nil
}

// start writes the block that is being made and begins one.
func (p *packing) start(begin []byte) error {
	err := p.close()
	p.open, p.begin = true, begin
	return err
}

// close writes the block that is being made. It is empty only where it is the range's first.
func (p *packing) close() error {
	if !p.open {
		return nil
	}
	p.open = false
	if len(p.block) == 0 {
		return p.rows.Delete(p.keyOf(p.begin))
	}
	key := p.keyOf(p.begin)
	err := p.rows.Put(key, bytes.Clone(seal(key, p.block)))
	p.block = p.block[:0]
	return err
}
