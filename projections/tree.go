package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"go.etcd.io/bbolt"
)

// bbolt's pages have no checksum, and ours are on values only. A changed count, position or key in a page hides rows: what is
// there is not found. So this file holds each page of the tree against the way in which bbolt 1.4 writes it: keys and values
// without a gap behind the page's elements, keys in order, and between those of the page above.

// The layout of a page, little-endian: number (8 bytes), flags (2), count of elements (2), count of further pages (4). An element
// of a branch: position of the key, length of the key, number of the page below (8). One of a leaf: flags, position, length
// of the key, length of the value. A position counts from the element.
const (
	pageHead    = 16
	pageElement = 16
	branchFlag  = 1
	leafFlag    = 2
	deepest     = 64
)

// treeCheck goes through the pages of a bucket.
type treeCheck struct {
	file     io.ReaderAt
	pageSize uint64
	pages    uint64 // in the file
	from     []byte // leaves that end before it were checked
	budget   int    // how many leaves are checked at once
	resume   []byte // where the next check goes on, or nil at the end
}

// leavesAtOnce bounds how long a check keeps a transaction open, which may delay a flush: 8 MiB of leaves.
const leavesAtOnce = 2048

// checkTree checks so many leaves of the rows, from a key on. It returns where to go on, or nil at the end.
func checkTree(tx *bbolt.Tx, file io.ReaderAt, from []byte) (resume []byte, err error) {
	rows := tx.Bucket(bucketName)
	if rows == nil {
		return nil, damage{fmt.Errorf("file without the bucket %q", bucketName)}
	}
	size := uint64(tx.DB().Info().PageSize)
	c := &treeCheck{file: file, pageSize: size, pages: uint64(tx.Size()) / size, from: from, budget: leavesAtOnce}
	if root := uint64(rows.Root()); root > 0 { // else the few rows are within the page above
		err = c.page(root, nil, nil, deepest)
	}
	if err == nil && from == nil {
		err = c.page(uint64(tx.Cursor().Bucket().Root()), nil, nil, 1)
	}
	return c.resume, err
}

// checkWholeTree is checkTree for all of the rows.
func checkWholeTree(tx *bbolt.Tx, file io.ReaderAt) error {
	from, err := checkTree(tx, file, nil)
	for err == nil && from != nil {
		from, err = checkTree(tx, file, from)
	}
	return err
}

func badPage(id uint64, format string, args ...any) error {
	return damage{fmt.Errorf("page %d: %s", id, fmt.Sprintf(format, args...))}
}

// page checks a page and those below it. Its keys are not less than least, and below another, nil for any.
func (c *treeCheck) page(id uint64, least, below []byte, levels int) error {
	if levels == 0 {
		return badPage(id, "tree is too deep")
	}
	p, err := c.read(id)
	if err != nil {
		return err
	}
	leaf := binary.LittleEndian.Uint16(p[8:]) == leafFlag
	keys, next, err := elements(id, p, leaf)
	if err != nil {
		return err
	}
	for i, key := range keys {
		switch {
		case i > 0 && bytes.Compare(keys[i-1], key) >= 0, bytes.Compare(key, least) < 0 && (leaf || i > 0), below != nil && bytes.Compare(key, below) >= 0:
			return badPage(id, "key %x is out of order", key)
		}
	}
	if leaf {
		if c.budget--; c.budget <= 0 {
			c.resume = bytes.Clone(below)
		}
		return nil
	}
	for i := range keys {
		least, end := keys[i], below
		if i+1 < len(keys) {
			end = keys[i+1]
		}
		if c.from != nil && end != nil && bytes.Compare(end, c.from) <= 0 {
			continue
		}
		if err := c.page(next[i], least, end, levels-1); err != nil || c.resume != nil {
			return err
		}
	}
	return nil
}

// read reads a page with those that belong to it.
func (c *treeCheck) read(id uint64) ([]byte, error) {
	if id < 2 || id >= c.pages {
		return nil, badPage(id, "the file has %d pages", c.pages)
	}
	p := make([]byte, c.pageSize)
	if _, err := c.file.ReadAt(p, int64(id*c.pageSize)); err != nil {
		return nil, endOfFile(id, err)
	}
	flags, more := binary.LittleEndian.Uint16(p[8:]), uint64(binary.LittleEndian.Uint32(p[12:]))
	switch {
	case binary.LittleEndian.Uint64(p) != id:
		return nil, badPage(id, "its number is %d", binary.LittleEndian.Uint64(p))
	case flags != branchFlag && flags != leafFlag:
		return nil, badPage(id, "its flags are %#x", flags)
	case more >= c.pages-id:
		return nil, badPage(id, "it has %d further pages", more)
	}
	if more > 0 {
		p = append(p, make([]byte, more*c.pageSize)...)
		if _, err := c.file.ReadAt(p[c.pageSize:], int64((id+1)*c.pageSize)); err != nil {
			return nil, endOfFile(id, err)
		}
	}
	return p, nil
}

func endOfFile(id uint64, err error) error {
	if errors.Is(err, io.EOF) {
		return badPage(id, "it lies behind the end of the file")
	}
	return err
}

// elements returns the keys of a page, and of a branch the pages below it.
func elements(id uint64, p []byte, leaf bool) (keys [][]byte, next []uint64, err error) {
	count := int(binary.LittleEndian.Uint16(p[10:]))
	at := pageHead + count*pageElement
	if at > len(p) || count == 0 {
		return nil, nil, badPage(id, "it has %d elements", count)
	}
	for i := range count {
		offset := pageHead + i*pageElement
		e := p[offset:]
		pos, key, value := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint32(e[4:]), uint32(0)
		if leaf {
			pos, key, value = binary.LittleEndian.Uint32(e[4:]), binary.LittleEndian.Uint32(e[8:]), binary.LittleEndian.Uint32(e[12:])
		}
		if uint64(offset)+uint64(pos) != uint64(at) || key == 0 || uint64(at)+uint64(key)+uint64(value) > uint64(len(p)) {
			return nil, nil, badPage(id, "element %d of %d is not where bbolt writes it", i, count)
		}
		keys = append(keys, p[at:at+int(key)])
		if !leaf {
			next = append(next, binary.LittleEndian.Uint64(e[8:]))
		}
		at += int(key) + int(value)
	}
	return keys, next, nil
}

// checkPages checks the pages that [DB.examine] has left, beside the service.
func (d *DB) checkPages() {
	for from := d.unchecked; from != nil; {
		select {
		case <-d.stop:
			return
		default:
		}
		err := guarded(func() (err error) {
			tx, err := d.file.read()
			if err != nil {
				return err
			}
			defer d.file.done(tx)
			from, err = checkTree(tx, d.file.os, from)
			return err
		})
		if err != nil {
			if _ = d.noteDamage(err); !isDamage(err) {
				d.log.Warn("pages of a projection cannot be checked", "file", d.path, "error", err)
			}
			return
		}
	}
}
