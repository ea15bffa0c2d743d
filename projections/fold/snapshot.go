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

// restore fills an empty file.
func (d *DB) restore(snapshot io.Reader, end Checkpoint) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	in := json.NewDecoder(bufio.NewReader(snapshot))
	for more := true; more; {
		m := newMemtable()
		m.end = end
		for more && m.rows.Len() < rowsAtOnce && m.bytes < bytesAtOnce {
			var r SnapshotRow
			err := in.Decode(&r)
			if more = !errors.Is(err, io.EOF); !more {
				break
			}
			if err == nil {
				err = d.restoreRow(m, r)
			}
			if err != nil {
				return err
			}
		}
		if err := d.commit(m); err != nil {
			return err
		}
	}
	return nil
}

// restoreRow adds a row to a memtable.
func (d *DB) restoreRow(m *memtable, r SnapshotRow) error {
	for _, t := range d.tables {
		if t.Called(r.Table) {
			row, err := t.load(r)
			if err == nil {
				m.set(row)
			}
			return err
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

// load implements AnyTable.
func (t *Table[S]) load(r SnapshotRow) (row memrow, err error) {
	key := appendRow(nil, t.ID, r.Name)
	if r.Key != "" {
		name, err := hex.DecodeString(r.Key)
		if err != nil || len(name) == 0 {
			return row, fmt.Errorf("%s: %q is not a key of a row", t.Name, r.Key)
		}
		key = append([]byte{t.ID}, name...)
	}
	var s S
	var value bytes.Buffer
	if err = json.Unmarshal(r.Value, &s); err == nil {
		err = t.encodeRow(&value, &s, r.Seq)
	}
	if err != nil {
		return row, fmt.Errorf("%s %q: %w", t.Name, r.Name, err)
	}
	return memrow{key, seal(key, value.Bytes()), &s}, nil
}
