package fold

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"go.etcd.io/bbolt"
)

// Inspection is the file of a projection, open for reading only: nothing in it or beside it is changed.
type Inspection struct {
	db   *DB
	rows *bbolt.Bucket
	at   Checkpoint
}

// ErrUnused says that [Open] would put the file aside and begin with an empty one, though it is not damaged: it is of another
// version of Ledge.
var ErrUnused = errors.New("not used")

// Inspect opens the file at o.Path and calls f. It returns f's error, an error that is [fs.ErrNotExist] where there is no
// file, [ErrUnused], or an error that says how the file is damaged.
func Inspect(o Options, f func(*Inspection) error) error {
	switch st, err := os.Lstat(o.Path); {
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; move it away", o.Path)
	case st.Size() == 0:
		return fmt.Errorf("%w: %s is empty", ErrUnused, o.Path)
	}
	d := newDB(o)
	return d.with(o.Path, true, func() error {
		if err := d.examine(math.MaxInt64); err != nil {
			return err
		}
		return d.file.reading(func(rows *bbolt.Bucket) error {
			at, err := readCheckpoint(rows)
			if err != nil {
				return err
			}
			return f(&Inspection{d, rows, at})
		})
	})
}

// Checkpoint returns the last event that the file has folded, and its chain hash.
func (in *Inspection) Checkpoint() (seq uint64, chain [32]byte) { return in.at.Seq, in.at.Chain }

// Node is that of [DB.Node].
func (in *Inspection) Node() string { return readNode(in.rows.Tx()) }

// FirstWritten is that of [View.FirstWritten].
func (in *Inspection) FirstWritten() (seq uint64, err error) {
	err = guarded(func() error { seq = min(in.at.Seq+1, in.db.firstWritten(in.rows)); return nil })
	return seq, err
}

// Inspected returns a row of a file that is inspected.
func (t *Table[S]) Inspected(in *Inspection, name string) (s S, ok bool, err error) {
	err = guarded(func() error { s, _, ok = t.read(in.rows, appendRow(nil, t.ID, name)); return nil })
	return s, ok, err
}

// Dump is that of [DB.Dump]. It reads every row, index entry and counter; the error says which of them is damaged.
func (in *Inspection) Dump(w io.Writer) error {
	return guarded(func() error { return in.db.export(w, in.rows, true) })
}
