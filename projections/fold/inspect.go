package fold

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.etcd.io/bbolt"
)

// Inspection is the file of a projection, open for reading only: nothing in it or beside it is changed.
type Inspection struct {
	db   *DB // is never open: it says how rows are read
	bolt *bbolt.DB
	tx   *bbolt.Tx
	rows *bbolt.Bucket
	file *os.File // bbolt's
	at   Checkpoint
}

// ErrUnused says that [Open] would put the file aside and begin with an empty one, though it is not damaged: it is of another
// version of Ledge.
var ErrUnused = errors.New("not used")

// Inspect opens the file at o.Path and calls f. It returns f's error, an error that is [fs.ErrNotExist] where there is no
// file, [ErrUnused], or an error that says how the file is damaged.
func Inspect(o Options, f func(*Inspection) error) error {
	in := &Inspection{db: &DB{path: o.Path, name: o.Name, tables: o.Tables}}
	st, err := os.Lstat(o.Path)
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file; move it away", o.Path)
	case st.Size() == 0:
		return fmt.Errorf("%w: %s is empty", ErrUnused, o.Path)
	}
	var file *os.File
	keep := func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		in.file = file
		return file, err
	}
	err = guarded(func() (err error) {
		in.bolt, err = bbolt.Open(o.Path, 0o600, &bbolt.Options{
			ReadOnly: true, PreLoadFreelist: true, Timeout: cmp.Or(o.LockTimeout, time.Second), NoStatistics: true, OpenFile: keep,
		})
		return err
	})
	if err == nil {
		err = guarded(func() error { return in.open(st.Size()) })
	}
	if err == nil {
		err = f(in)
	}
	if in.tx != nil {
		err = errors.Join(err, guarded(in.tx.Rollback))
	}
	if in.bolt != nil {
		return errors.Join(err, guarded(in.bolt.Close))
	}
	if file != nil {
		_ = file.Close() // for the second time, if bbolt did
	}
	return err
}

func (in *Inspection) open(size int64) (err error) {
	if in.tx, err = in.bolt.Begin(false); err != nil {
		return err
	}
	if in.tx.Size() > size {
		return fmt.Errorf("file has %d of %d bytes", size, in.tx.Size())
	}
	schema, ok := readSchema(in.tx)
	in.rows = in.tx.Bucket(bucketName)
	switch want := schemaName(in.db.name, in.db.tables); {
	case !ok && in.rows == nil:
		return fmt.Errorf("%w: nothing is in the file: it was not made to the end", ErrUnused)
	case !ok:
		return errors.New("not a projection: it has no mark")
	case schema != want:
		return fmt.Errorf("%w: schema is %q, not %q", ErrUnused, schema, want)
	case in.rows == nil:
		return fmt.Errorf("file without the bucket %q", bucketName)
	}
	if in.at, err = readCheckpoint(in.rows); err != nil {
		return err
	}
	return check(in.tx, in.file)
}

// Checkpoint returns the last event that the file has folded, and its chain hash.
func (in *Inspection) Checkpoint() (seq uint64, chain [32]byte) { return in.at.Seq, in.at.Chain }

// Dump is that of [DB.Dump]. It reads every row, index entry and counter; the error says which of them is damaged.
func (in *Inspection) Dump(w io.Writer) error {
	return guarded(func() error { return in.db.export(w, in.rows, true) })
}
