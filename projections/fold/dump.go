package fold

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"go.etcd.io/bbolt"
)

// all yields every key with its value, in order. It is for f of [guarded].
func all(rows *bbolt.Bucket) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		var last []byte
		c := rows.Cursor()
		for key, sealed := c.First(); key != nil; key, sealed = c.Next() {
			if bytes.Compare(last, key) >= 0 {
				panic(damage{fmt.Errorf("keys out of order after %x", last)})
			}
			if !yield(key, unseal(key, sealed)) {
				return
			}
			last = key
		}
	}
}

// export writes each row of the tables as a [SnapshotRow]. With raw it also writes each key and value in hex, those of rows too: two encodings of
// one value are a difference. It is for f of [guarded].
func (d *DB) export(w io.Writer, rows *bbolt.Bucket, raw bool) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for key, value := range all(rows) {
		if !raw && key[0] > LastTable {
			break // counters and indexes
		}
		if t := d.table(key[0]); t != nil {
			r, err := t.save(key, value)
			if err == nil {
				err = enc.Encode(r)
			}
			if err != nil {
				return fmt.Errorf("row %x: %w", key, err)
			}
		}
		if raw {
			fmt.Fprintf(out, "%x %x\n", key, value)
		}
	}
	return out.Flush()
}

// Dump writes everything that was applied as the file has it: each row as in a snapshot, and each key with its value in hex, in the order of the
// keys. Two projections of the same events have the same dump, however the events came.
func (d *DB) Dump(w io.Writer) error {
	_, _, err := d.write(w, true)
	return err
}

// write exports what was applied, and returns its checkpoint.
func (d *DB) write(w io.Writer, raw bool) (seq uint64, chain [32]byte, err error) {
	v, release := d.View()
	defer release()
	err = v.Read(func() error { return d.export(w, v.rows, raw) })
	return v.filed.Seq, v.filed.Chain, err
}
