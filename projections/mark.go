package projections

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// mark says whether what is in the file has reached the disk. It has a bucket of its own, so that it is found in a
// file of any schema.
type mark struct {
	schema string // what is in the file, and how
	boot   string // the boot in which the file was written to without fsync; "" after a sync
}

var (
	markName  = []byte("mark")
	schemaKey = []byte("schema")
	bootKey   = []byte("boot")
)

func readMark(tx *bbolt.Tx) (m mark, ok bool) {
	b := tx.Bucket(markName)
	if b == nil {
		return m, false
	}
	return mark{string(b.Get(schemaKey)), string(b.Get(bootKey))}, true
}

func (m mark) write(tx *bbolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists(markName)
	if err != nil {
		return err
	}
	if err := b.Put(schemaKey, []byte(m.schema)); err != nil {
		return err
	}
	if _, err := tx.CreateBucketIfNotExists(bucketName); err != nil {
		return err
	}
	return b.Put(bootKey, []byte(m.boot))
}

// writeMark writes m so that it is on the disk when writeMark returns, and with it all that was written before.
// With it goes bbolt's list of free pages when the file is clean: a file that has it opens without a look at every
// page. It needs the writing lock: commits read these settings.
func (d *DB) writeMark(m mark) error {
	d.bolt.NoSync, d.bolt.NoFreelistSync = false, m.boot != ""
	defer func() { d.bolt.NoSync, d.bolt.NoFreelistSync = true, true }()
	if err := d.bolt.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", d.path, err)
	}
	if err := d.update(m.write); err != nil {
		return fmt.Errorf("mark %s: %w", d.path, err)
	}
	d.mark, d.applied = m, 0
	return nil
}
