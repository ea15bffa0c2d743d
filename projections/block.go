package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// The entries of a range, that is of an index at one value, are written in blocks: one key of the file has some that
// follow each other, so that whatever is appended to a range is a look at its last block and a write of that and the next ones. Which
// entries begin a block is decided by a hash of their suffix: so the blocks depend on nothing but what is in the range.
//
// The key of a block is the range's prefix and the suffix of the entry that begins it; what is before the first of
// those is in a block whose key is the prefix alone. The value is the entries in order, each: the length of the suffix,
// as a uvarint, the suffix, and the entry's value, whose length is that of all values of the index. The length 0 stands
// for the suffix that is in the key.

// blockLength is how many entries a block has in the mean: one in so many begins one. Tests alone change it.
var blockLength = 32

// entry is an entity in an index: its suffix, see [appendSuffix], and, in the index created, the time that it has in the others.
type entry struct{ suffix, value []byte }

func compareSuffix(e entry, suffix []byte) int { return bytes.Compare(e.suffix, suffix) }

// valueLength returns the length in bytes of the values of an index.
func valueLength(index byte) int {
	if index == createdID {
		return 8
	}
	return 0
}

// border is what an entry begins.
type border byte

const (
	inside border = iota
	beginsBlock
	beginsRun // and a block too
)

// borderAt decides what the entry with a suffix begins.
func borderAt(suffix []byte) border {
	h := uint64(len(suffix))
	for ; len(suffix) >= 8; suffix = suffix[8:] {
		h = (h ^ binary.LittleEndian.Uint64(suffix)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	for _, c := range suffix {
		h = (h ^ uint64(c)) * 0x100000001b3 // FNV-1a
	}
	h ^= h >> 33 // the mixer of MurmurHash3
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	switch {
	case h%uint64(blockLength) != 0:
		return inside
	case h%uint64(runLength) != 0:
		return beginsBlock
	}
	return beginsRun
}

// appendEntry appends an entry to a block; one without a suffix is that in the block's key.
func appendEntry(dst, suffix, value []byte) []byte {
	return append(append(binary.AppendUvarint(dst, uint64(len(suffix))), suffix...), value...)
}

var errBlock = errors.New("block of an index is cut or none")

// entryAt returns where the suffix of the entry at a place in a block lies, and where its value, of n bytes, ends; -1 where the block
// is cut.
func entryAt(b []byte, at, n int) (from, to, end int) {
	if at >= len(b) {
		return 0, 0, -1
	}
	size, first := int(b[at]), at == 0
	if at++; size >= 0x80 {
		if at == len(b) || b[at] >= 0x80 { // no suffix is as long
			return 0, 0, -1
		}
		size = size&0x7f | int(b[at])<<7
		at++
	}
	if to, end = at+size, at+size+n; end > len(b) || size < suffixHead && (size > 0 || !first) {
		return 0, 0, -1
	}
	return at, to, end
}

// appendEntries appends the entries of a block of an index, whose key has the suffix begin. They share its memory.
func appendEntries(dst []entry, index byte, begin, b []byte) ([]entry, error) {
	n := valueLength(index)
	if dst == nil {
		dst = make([]entry, 0, 1+len(b)/32)
	}
	for at := 0; at < len(b) || at == 0; begin = nil {
		from, to, end := entryAt(b, at, n)
		if end < 0 || from == to && len(begin) < suffixHead {
			return dst, errBlock
		}
		suffix := b[from:to]
		if from == to {
			suffix = begin
		}
		dst, at = append(dst, entry{suffix, b[to:end]}), end
	}
	return dst, nil
}

// countBlock counts the entries of the block at a key.
func countBlock(key, sealed []byte) (count int) {
	b, n := unseal(key, sealed), valueLength(key[0])
	for at := 0; at < len(b); count++ {
		if _, _, at = entryAt(b, at, n); at < 0 {
			panic(damage{errBlock})
		}
	}
	return count
}

// readBlock is appendEntries for a key of an index, and returns its range's prefix.
func readBlock(dst []entry, key, value []byte) (prefix []byte, list []entry, err error) {
	prefix, begin, err := splitKey(key)
	if err == nil {
		list, err = appendEntries(dst, key[0], begin, value)
	}
	return prefix, list, err
}

// blocks is a cursor over the blocks of a range.
type blocks struct {
	c       *bbolt.Cursor
	prefix  []byte
	entries []entry // of the block where it stands, one at least; none outside of the range
	last    int     // among the entries: what was looked up last
	at      []byte  // the key of that block
	key     []byte  // scratch
}

func newBlocks(rows *bbolt.Bucket, prefix []byte) *blocks {
	return &blocks{c: rows.Cursor(), prefix: prefix}
}

// load reads the block at a key, and reports whether that is one of the range.
func (b *blocks) load(key, value []byte) bool {
	b.entries = b.entries[:0]
	if !bytes.HasPrefix(key, b.prefix) {
		return false
	}
	b.at = key
	var err error
	if b.entries, err = appendEntries(b.entries, key[0], key[len(b.prefix):], unseal(key, value)); err != nil {
		panic(damage{fmt.Errorf("%w: %x", err, b.prefix)})
	}
	return true
}

// keyOf returns the key of the block that begins at a suffix, until the next call.
func (b *blocks) keyOf(begin []byte) []byte {
	b.key = append(append(b.key[:0], b.prefix...), begin...)
	return b.key
}

// find moves to the block that would have the entry with a suffix; false where there is none.
func (b *blocks) find(suffix []byte) bool {
	at := b.keyOf(suffix)
	key, value := b.c.Seek(at)
	if !bytes.Equal(key, at) {
		key, value = back(b.c, key)
	}
	return b.load(key, value)
}

// has reports whether there is an entry with a suffix. Those that are near each other are found in one block, and those that
// follow each other, from either end, beside the last.
func (b *blocks) has(suffix []byte) bool {
	for _, i := range [...]int{b.last - 1, b.last + 1} {
		if i >= 0 && i < len(b.entries) && bytes.Equal(b.entries[i].suffix, suffix) {
			b.last = i
			return true
		}
	}
	if n := len(b.entries); n == 0 || compareSuffix(b.entries[0], suffix) > 0 || compareSuffix(b.entries[n-1], suffix) < 0 {
		if !b.find(suffix) {
			return false
		}
	}
	i, found := slices.BinarySearchFunc(b.entries, suffix, compareSuffix)
	b.last = i
	return found
}

// back moves to the last key before the one that a Seek has found, which may be nil.
func back(c *bbolt.Cursor, found []byte) (key, value []byte) {
	if found == nil {
		return c.Last()
	}
	if key, value = c.Prev(); key == nil && c.Bucket().Writable() {
		return backOverEmptied(c, found)
	}
	return key, value
}

// backOverEmptied is back where bbolt's Prev may stand in a page that the transaction has taken everything from: there
// it returns nil, and goes on when it is called again.
func backOverEmptied(c *bbolt.Cursor, found []byte) (key, value []byte) {
	if first, _ := c.First(); bytes.Compare(first, found) >= 0 {
		return nil, nil
	}
	for c.Seek(found); key == nil; {
		key, value = c.Prev()
	}
	return key, value
}

// before moves to the last key before another.
func before(c *bbolt.Cursor, end []byte) (key, value []byte) {
	found, _ := c.Seek(end)
	return back(c, found)
}
