package fold

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"go.etcd.io/bbolt"
)

// bbolt's pages have no checksum. So a check looks at three things: the heads of the pages, and that nothing refers to a page twice, because
// bbolt believes both, and would go in a circle for ever (the list of free pages is read when the file is opened, since bbolt's check does that in a
// goroutine of its own, where a fault ends the process); every key, whose value has a checksum of both, and how many there are; and what
// bbolt's own check says.

// The layout of a page, little-endian: number (8 bytes), flags (2), count of elements (2), count of further pages (4). An element of a branch
// has 16 bytes, the last 8 of which are the number of the page below. At freelistAt in the pages 0 and 1 is the number of the list of free pages.
const (
	pageHead     = 16
	pageElement  = 16
	branchFlag   = 1
	leafFlag     = 2
	freelistFlag = 16
	freelistAt   = 48
)

// heads checks the heads of pages.
type heads struct {
	file io.ReaderAt
	size int64 // of a page
	end  uint64
	seen map[uint64]bool
}

// checkHeads checks those of the tree of the rows; without leaves, of the pages above them. With leaves, all that [bbolt.Tx.Check] looks at.
func checkHeads(tx *bbolt.Tx, file io.ReaderAt, leaves bool) error {
	size := int64(tx.DB().Info().PageSize)
	h := &heads{file, size, uint64(tx.Size() / size), map[uint64]bool{}}
	if root := uint64(tx.Bucket(bucketName).Root()); root > 0 { // else the few rows are within the page above
		if err := h.tree(root, leaves); err != nil {
			return err
		}
	}
	if !leaves {
		return nil
	}
	if err := h.tree(uint64(tx.Cursor().Bucket().Root()), true); err != nil {
		return err
	}
	for meta := range uint64(2) {
		p := make([]byte, freelistAt+8)
		if _, err := file.ReadAt(p, int64(meta)*size); err != nil {
			return err
		}
		if id := binary.LittleEndian.Uint64(p[freelistAt:]); id < h.end {
			if _, err := h.page(id, leafFlag|freelistFlag|branchFlag); err != nil && meta == uint64(tx.ID())%2 {
				return err
			}
		}
	}
	return nil
}

// tree checks level after level. bbolt's trees are as deep everywhere.
func (h *heads) tree(root uint64, leaves bool) error {
	for level := []uint64{root}; len(level) > 0; {
		var below []uint64
		for i, id := range level {
			if id < 2 || id >= h.end || h.seen[id] {
				return badPage(id, "it is referred to twice, or lies behind the end of the file")
			}
			h.seen[id] = true
			if i > 0 && below == nil && !leaves {
				continue
			}
			next, err := h.page(id, branchFlag|leafFlag)
			if err != nil {
				return err
			}
			below = append(below, next...)
		}
		level = below
	}
	return nil
}

func badPage(id uint64, why string) error { return damage{fmt.Errorf("page %d: %s", id, why)} }

// page checks the head of a page, and returns the pages to which it refers.
func (h *heads) page(id uint64, flags uint16) (next []uint64, err error) {
	p := make([]byte, pageHead)
	if _, err := h.file.ReadAt(p, int64(id)*h.size); errors.Is(err, io.EOF) {
		return nil, badPage(id, "it lies behind the end of the file")
	} else if err != nil {
		return nil, err
	}
	flag, n, more := binary.LittleEndian.Uint16(p[8:]), int64(binary.LittleEndian.Uint16(p[10:])), uint64(binary.LittleEndian.Uint32(p[12:]))
	if binary.LittleEndian.Uint64(p) != id || flag&flags != flag || more >= h.end-id {
		return nil, badPage(id, "it has a damaged head")
	}
	if flag != branchFlag {
		return nil, nil
	}
	elements := make([]byte, n*pageElement)
	if _, err := h.file.ReadAt(elements, int64(id)*h.size+pageHead); err != nil || n == 0 {
		return nil, badPage(id, "it has a damaged head")
	}
	for ; len(elements) > 0; elements = elements[pageElement:] {
		next = append(next, binary.LittleEndian.Uint64(elements[8:]))
	}
	return next, nil
}

// checkKeys reads every key, or as many as it can before stop is closed.
func checkKeys(rows *bbolt.Bucket, stop <-chan struct{}) error {
	var n int64
	for key := range all(rows) {
		select {
		case <-stop:
			return nil
		default:
		}
		if key[0] != metaID {
			n++
		}
	}
	if want := readKeys(rows.Cursor()); n != want {
		return damage{fmt.Errorf("%d keys are there, not %d", n, want)}
	}
	return nil
}

// checkPages has bbolt check its pages. Nothing may be written meanwhile.
func checkPages(tx *bbolt.Tx) (err error) {
	for found := range tx.Check() {
		if err == nil {
			err = damage{found}
		}
	}
	return err
}

// checkedAtOnce is the size in bytes up to which Open checks a file. A larger one is checked beside the service.
const checkedAtOnce = 8 << 20

// check checks a file that is open for reading only.
func check(tx *bbolt.Tx, file io.ReaderAt) error {
	if err := checkHeads(tx, file, true); err != nil {
		return err
	}
	if err := checkKeys(tx.Bucket(bucketName), nil); err != nil {
		return err
	}
	return checkPages(tx)
}

// checkAfter is how long after Open the keys of a large file begin to be checked. The start itself needs the processor and the disk.
const checkAfter = 2 * time.Second

// checkBehind checks the keys of a large file beside the service.
func (d *DB) checkBehind() {
	if d.checked {
		return
	}
	select {
	case <-d.stop:
		return
	case <-time.After(checkAfter):
	}
	err := d.file.reading(func(rows *bbolt.Bucket) error { return checkKeys(rows, d.stop) })
	if err == nil {
		return
	}
	if _ = d.noteDamage(err); !isDamage(err) {
		d.log.Warn("state file cannot be checked", "file", d.path, "error", err)
	}
}
