package fold

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"
)

// Checkpoint is the last event that a file has folded.
type Checkpoint struct {
	Seq   uint64
	Chain [32]byte
}

var (
	bucketName    = []byte("ledge")
	checkpointKey = []byte{metaID, 'c'}
)

func readCheckpoint(rows *bbolt.Bucket) (c Checkpoint, err error) {
	b := get(rows, checkpointKey)
	if b == nil {
		return c, nil
	}
	if len(b) != 8+len(c.Chain) {
		return c, damage{fmt.Errorf("checkpoint of %d bytes", len(b))}
	}
	c.Seq = binary.BigEndian.Uint64(b)
	copy(c.Chain[:], b[8:])
	return c, nil
}

func (c Checkpoint) write(rows *bbolt.Bucket) error {
	value := append(binary.BigEndian.AppendUint64(nil, c.Seq), c.Chain[:]...)
	return rows.Put(checkpointKey, seal(checkpointKey, value))
}

// Every value in the file ends with a checksum of its key and itself. So a flipped bit that still decodes is found by the
// read that meets it.

const sumLength = 4 // bytes

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(key, value []byte) uint32 {
	return crc32.Update(crc32.Update(uint32(len(key)), castagnoli, key), castagnoli, value)
}

// seal appends to a value its checksum.
func seal(key, value []byte) []byte {
	return binary.BigEndian.AppendUint32(value, sumOf(key, value))
}

var errSum = errors.New("wrong checksum")

// unseal returns a value without its checksum. It panics with a [damage] if the checksum is wrong.
func unseal(key, sealed []byte) []byte {
	n := len(sealed) - sumLength
	if n < 0 || binary.BigEndian.Uint32(sealed[n:]) != sumOf(key, sealed[:n]) {
		panic(damage{fmt.Errorf("%w of the value at key %x", errSum, key)})
	}
	return sealed[:n:n]
}

// What reads rows from here on is for f of [guarded].

// get returns the value at a key, nil if the key is absent.
func get(rows *bbolt.Bucket, key []byte) []byte { return seek(rows.Cursor(), key) }

// seek returns the value at a key, nil if the key is absent. It checks the keys before and after an absent one, so that a damaged key
// is not taken for an absent one.
func seek(c *bbolt.Cursor, key []byte) []byte {
	value, _ := seekNext(c, key)
	return value
}

// seekNext is seek that returns the key behind an absent one, too, nil if that is the last.
func seekNext(c *bbolt.Cursor, key []byte) (value, next []byte) {
	next, sealed := c.Seek(key)
	if bytes.Equal(next, key) {
		return unseal(key, sealed), nil
	}
	if next != nil {
		unseal(next, sealed)
	}
	previous, sealed := back(c, next)
	if previous != nil {
		unseal(previous, sealed)
	}
	if previous != nil && bytes.Compare(previous, key) >= 0 || next != nil && bytes.Compare(next, key) <= 0 {
		panic(damage{fmt.Errorf("keys out of order around %x", key)})
	}
	return nil, next
}
