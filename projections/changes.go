package projections

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// write implements table: it brings what the layer has made of each key to the writer, with the entries of what the file has
// there taken away. Nobody adds to the overlay meanwhile.
func (l *layer[S]) write(rows *bbolt.Bucket, w *writer) error {
	indexed := len(l.indexes) > 0
	empty := !indexed || tallyAt(rows, l.indexes[0].id, "").count == 0 // nothing to look for
	before := rows.Cursor()
	g := w.in(l.id, "")
	var row []byte
	for _, h := range l.order {
		row = appendRow(row[:0], l.id, h.key)
		was, now := found[S]{}, h.newest
		if !empty {
			if b := seek(before, row); b != nil {
				was.value, was.seq = l.mustParse(row[1:], b)
				was.ok = true
			}
		}
		if indexed && was.ok == now.found.ok && (!was.ok || was.seq == now.seq) {
			continue // it came and went, or the file has it
		}
		if err := l.writeRow(w, g, row, now); err != nil {
			return &encodeError{fmt.Errorf("encode %s %q: %w", l.name, h.key, err)}
		}
		if was.ok {
			l.index(w, &was.value, was.seq, row[1:], true)
		}
		if now.found.ok {
			l.index(w, &now.found.value, now.seq, row[1:], false)
		}
	}
	return nil
}

func (l *layer[S]) writeRow(w *writer, g *group, row []byte, v *version[S]) error {
	if !v.found.ok {
		w.delete(g, row)
		return nil
	}
	w.buf.Reset()
	if len(l.indexes) > 0 {
		w.buf.Write(binary.AppendUvarint(w.buf.AvailableBuffer(), v.seq))
	}
	if err := l.encode(&w.buf, &v.found.value); err != nil {
		return err
	}
	w.put(g, row, seal(row, w.buf.Bytes()))
	return nil
}

// encodeError says that a value cannot be written: it would be the same in every file.
type encodeError struct{ error }

func (e *encodeError) Unwrap() error { return e.error }
