package projections

import (
	"bytes"
	"encoding/binary"
)

// index has the entries of an entity put into its indexes, or taken away. The sequence is that of the event that has put
// the entity, and name is as in its row's key. Nothing but that is in an entry, so that one is made for all indexes with the same order.
func (k *kind[S]) index(w *writer, s *S, seq uint64, name []byte, gone bool) {
	if len(k.indexes) == 0 {
		return
	}
	one := k.one(*s)
	usual := w.entry(k.indexes[0].at(*s), seq, name, gone)
	for i := range k.indexes {
		x, o := &k.indexes[i], usual
		if i > 0 && x.at != nil {
			o = w.entry(x.at(*s), seq, name, gone)
		}
		if x.name == created {
			o.value = usual.key[:valueLength(x.id)] // the time: what the entity's place in the other indexes is known by
		}
		w.values = x.of(w.values[:0], *s)
		for _, v := range w.values {
			g := k.group(w, x, v)
			if gone {
				g.more.take(one)
			} else {
				g.more.add(one)
			}
			g.ops = append(g.ops, o)
		}
	}
}

// entry returns an operation on a suffix.
func (w *writer) entry(at int64, seq uint64, name []byte, gone bool) *op {
	w.key = appendTime(w.key[:0], at)
	w.key = append(binary.BigEndian.AppendUint64(w.key, seq), name...)
	return &op{key: bytes.Clone(w.key), delete: gone, border: borderAt(w.key)}
}
