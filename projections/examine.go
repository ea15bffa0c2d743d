package projections

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"go.etcd.io/bbolt"
)

// examine decides whether the file that is open is to be trusted.
func (d *DB) examine() error {
	if why, err := os.ReadFile(condemned(d.path)); err == nil {
		return &distrust{fmt.Errorf("condemned: %s", bytes.TrimSpace(why))}
	}
	tx, err := d.bolt.Begin(false)
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
	m, ok := readMark(tx)
	if !ok {
		return &distrust{fmt.Errorf("not a projection: it has no mark")}
	}
	if err := d.trust(m); err != nil {
		return err
	}
	rows := tx.Bucket(bucketName)
	if rows == nil {
		return &distrust{fmt.Errorf("file without the bucket %q", bucketName)}
	}
	if _, err := readCheckpoint(rows); err != nil {
		return &distrust{err}
	}
	if m.boot == "" {
		return nil
	}
	return walk(rows)
}

// load learns from a file that is trusted where it is.
func (d *DB) load() error {
	return d.bolt.View(func(tx *bbolt.Tx) (err error) {
		d.mark, _ = readMark(tx)
		d.here, err = readCheckpoint(tx.Bucket(bucketName))
		d.inFile = d.here.seq
		d.mapped.drop(tx) // a file that was not closed was looked through
		return err
	})
}

// create makes an empty file a projection.
func (d *DB) create() error {
	return d.writeMark(mark{schema: schemaOf(d.tables)})
}

func (d *DB) trust(m mark) error {
	if want := schemaOf(d.tables); m.schema != want {
		return &distrust{fmt.Errorf("schema is %q, not %q", m.schema, want)}
	}
	if m.boot == "" || m.boot == d.boot && m.boot != unknownBoot {
		return nil
	}
	return &distrust{fmt.Errorf("file was not closed before the machine went down: what was not synced is lost")}
}

// walk visits every key of a file that was not closed, in order: a page that is none, or that lies behind the end of
// the file, is found now and not by a request.
func walk(rows *bbolt.Bucket) error {
	var last []byte
	var list []entry
	c := rows.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if bytes.Compare(last, key) >= 0 {
			return &distrust{fmt.Errorf("keys out of order after %x", last)}
		}
		if last = key; key[0] < indexID {
			continue
		}
		var err error
		if _, list, err = readBlock(list[:0], key, value); err != nil {
			return &distrust{err}
		}
		if !slices.IsSortedFunc(list, func(a, b entry) int { return bytes.Compare(a.suffix, b.suffix) }) {
			return &distrust{fmt.Errorf("entries out of order in %x", key)}
		}
	}
	return nil
}
