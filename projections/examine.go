package projections

import (
	"errors"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"
)

// examine decides whether the file that is open is to be trusted.
func (d *DB) examine() error {
	tx, err := d.file.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	info, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	if tx.Size() > info.Size() {
		return &distrust{fmt.Errorf("file has %d of %d bytes", info.Size(), tx.Size())}
	}
	schema, ok := readSchema(tx)
	if !ok {
		return &distrust{fmt.Errorf("not a projection: it has no mark")}
	}
	if want := schemaOf(d.tables); schema != want {
		return &distrust{fmt.Errorf("schema is %q, not %q", schema, want)}
	}
	rows := tx.Bucket(bucketName)
	if rows == nil {
		return &distrust{fmt.Errorf("file without the bucket %q", bucketName)}
	}
	if _, err := readCheckpoint(rows); err != nil {
		return &distrust{err}
	}
	if d.checked = info.Size() <= checkedAtOnce; d.checked {
		return check(tx, d.file.os)
	}
	return checkHeads(tx, d.file.os, false)
}

// load learns from a file that is trusted where it is.
func (d *DB) load() error {
	if err := d.rewriteHead(); err != nil {
		return err
	}
	return d.file.View(func(tx *bbolt.Tx) error {
		at, err := readCheckpoint(tx.Bucket(bucketName))
		d.here.Store(&at)
		d.inFile = at.seq
		d.file.last.Store(int64(tx.ID()))
		return err
	})
}

// headPages are bbolt's two meta pages and the two that a new file begins with.
const headPages = 4

// rewriteHead writes the first pages again, as they are, and fsyncs them. The process before this one may have died after an
// fsync that failed, whose error Linux reports once: then the meta page in memory says more than that on the disk. The pages
// that it refers to were synced before it was written.
func (d *DB) rewriteHead() error {
	head := make([]byte, headPages*d.file.Info().PageSize)
	n, err := d.file.os.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return &distrust{err}
	}
	if _, err = d.file.os.WriteAt(head[:n], 0); err == nil {
		err = d.file.os.Sync()
	}
	if err != nil && !noRoom(err) { // where there is no room, nothing is written that could rest on the meta page
		return &distrust{err}
	}
	return nil
}

// begin makes an empty file a projection.
func (d *DB) begin() error {
	return d.update(func(tx *bbolt.Tx) error { return writeSchema(tx, schemaOf(d.tables)) })
}
