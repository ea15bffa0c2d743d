package fold

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"go.etcd.io/bbolt"

	"ledge/store/osfile"
)

// SnapshotRow is one row of a snapshot: an entity or a value of a table, without anything that depends on the layout of
// the file. A snapshot is one JSON object a line, in the order of the file's keys.
type SnapshotRow struct {
	Table string `json:"table"`
	// Name is the row's name. Where the file keeps only a part of it and a digest, or it is no UTF-8, it is empty, and
	// Key has the name in hex as the file has it.
	Name string `json:"name,omitempty"`
	Key  string `json:"key,omitempty"`
	// Seq is the sequence of the event that has put the row; 0 in tables without indexes.
	Seq   uint64          `json:"seq,omitempty"`
	Value json.RawMessage `json:"value"`
}

const (
	// rowsAtOnce and bytesAtOnce are how much of a snapshot one transaction writes; the last row may go beyond.
	rowsAtOnce  = 1000
	bytesAtOnce = 4 << 20
	// restoring ends the name of a file that is made from a snapshot, until it is complete.
	restoring = ".restoring"
)

// Snapshot writes all rows as of the checkpoint, which it returns. Two projections of the same events have the same
// snapshot.
func (d *DB) Snapshot(w io.Writer) (seq uint64, chain [32]byte, err error) { return d.write(w, false) }

// Restore makes the projection at o.Path anew from a snapshot as of an event. Whatever is there is replaced, in one step:
// after a crash there is the old file or the new one.
func Restore(o Options, snapshot io.Reader, seq uint64, chain [32]byte) error {
	path := o.Path
	o.Path += restoring
	if err := osfile.Remove(o.Path); err != nil {
		return err
	}
	d, err := Open(o)
	if err != nil {
		return err
	}
	err = errors.Join(d.restore(snapshot, Checkpoint{seq, chain}), d.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("restore %s from a snapshot: %w", path, err), os.Remove(o.Path))
	}
	return publish(o.Path, path)
}

// restore fills an empty file. The checkpoint comes with the last rows.
func (d *DB) restore(snapshot io.Reader, end Checkpoint) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	in := json.NewDecoder(bufio.NewReader(snapshot))
	for more := true; more; {
		err := d.update(func(tx *bbolt.Tx) (err error) {
			rows := tx.Bucket(bucketName)
			if more, err = d.restoreSome(in); err != nil {
				return err
			}
			if !more {
				if err := end.write(rows); err != nil {
					return err
				}
			}
			return d.writer.flush(rows)
		})
		d.writer.reset()
		if err != nil {
			return err
		}
	}
	return nil
}

// restoreSome hands the next rows to the writer; more is whether there may be others.
func (d *DB) restoreSome(in *json.Decoder) (more bool, err error) {
	start := in.InputOffset()
	for n := 0; n < rowsAtOnce && in.InputOffset()-start < bytesAtOnce; n++ {
		var r SnapshotRow
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		if err := d.restoreRow(r); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (d *DB) restoreRow(r SnapshotRow) error {
	for _, t := range d.tables {
		if t.Called(r.Table) {
			return t.load(d.writer, r)
		}
	}
	return fmt.Errorf("%s has no table %q", d.name, r.Table)
}

// save implements AnyTable.
func (t *Table[S]) save(key, value []byte) (r SnapshotRow, err error) {
	s, seq, err := t.parse(key[1:], value)
	if err != nil {
		return r, err
	}
	r = SnapshotRow{Table: t.Name, Name: NameIn(key[1:]), Seq: seq}
	if !utf8.ValidString(r.Name) || !bytes.Equal(appendName(nil, r.Name), key[1:]) {
		r.Name, r.Key = "", hex.EncodeToString(key[1:])
	}
	r.Value, err = json.Marshal(s)
	return r, err
}

// load implements AnyTable. The file has no row with the name yet.
func (t *Table[S]) load(w *writer, r SnapshotRow) error {
	row := appendRow(nil, t.ID, r.Name)
	if r.Key != "" {
		name, err := hex.DecodeString(r.Key)
		if err != nil || len(name) == 0 {
			return fmt.Errorf("%s: %q is no key of a row", t.Name, r.Key)
		}
		row = append([]byte{t.ID}, name...)
	}
	var s S
	if err := json.Unmarshal(r.Value, &s); err != nil {
		return fmt.Errorf("%s %q: %w", t.Name, r.Name, err)
	}
	var value bytes.Buffer
	if err := t.encodeRow(&value, &s, r.Seq); err != nil {
		return fmt.Errorf("%s %q: %w", t.Name, r.Name, err)
	}
	w.empty[t.ID] = true
	return t.write(nil, nil, w, memrow{row, seal(row, value.Bytes()), &s})
}
