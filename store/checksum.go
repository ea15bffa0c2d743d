package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server"
)

// checksum verifies the 8 bytes that end each record of one block: the HighwayHash-64, little-endian, over sequence and
// time, subject, headers and payload, with the SHA-256 of the stream's name and the block's number as its key. The lengths
// are not in it, but with another length it is over other bytes; not so that of the headers, which is wrong where they do
// not end there.
type checksum struct{ *highwayhash.Digest64 }

func (b *blocks) checksum(n uint32) checksum {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", b.stream, n))
	hash, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // the key is not of 32 bytes
	}
	return checksum{hash}
}

// holds reports whether a record, which has its full length, is as it was written; with any flag in its sequence.
func (c checksum) holds(r []byte) bool {
	sum, ok := c.of(r)
	return ok && sum == binary.LittleEndian.Uint64(r[len(r)-recordSum:])
}

// seal ends a record, which has its full length, with its checksum.
func (c checksum) seal(r []byte) {
	sum, _ := c.of(r)
	binary.LittleEndian.PutUint64(r[len(r)-recordSum:], sum)
}

// of computes the checksum of a record; false where its lengths do not fit.
func (c checksum) of(r []byte) (sum uint64, ok bool) {
	end := len(r) - recordSum
	subject := recordHead + int(binary.LittleEndian.Uint16(r[20:]))
	rest := subject
	if binary.LittleEndian.Uint32(r)&headersBit != 0 {
		rest += 4
	}
	if rest > end {
		return 0, false
	}
	c.Reset()
	_, _ = c.Write(r[4:20])
	_, _ = c.Write(r[recordHead:subject])
	_, _ = c.Write(r[rest:end])
	return c.Sum64(), true
}

// altered is the error for a record that is not as the server wrote it. That is damage, and the server is not asked: its
// cache may have what the disk no longer has.
type altered struct {
	seq   uint64
	block uint32
}

func (a altered) Error() string { return fmt.Sprintf("its record in %d.blk is altered", a.block) }

// pass takes note of a record that is not asked for.
func (b *blockReader) pass(seq uint64, whole bool) {
	switch {
	case !whole:
		b.amiss = b.altered()
	case seq&tombstoneBit == 0:
		b.passed = seq &^ erasedBit
	}
}

// altered is the error for a record that is not as it was written: the first that was passed over, or the one at hand.
func (b *blockReader) altered() error {
	switch {
	case b.amiss != nil:
		return b.amiss
	case b.passed > 0:
		return altered{b.passed + 1, b.number}
	}
	return altered{b.next, b.number}
}

// missing is the error for a record that is due and is not there: it is one that was passed over, as its sequence is
// altered, or retention has removed it, which the server knows.
func (b *blockReader) missing() error {
	if b.amiss != nil {
		return b.amiss
	}
	return errRecord
}

// foreign reports whether a block is compressed or encrypted, as none is that Ledge has the server write: only the server
// can read it then.
func (b *blocks) foreign(n uint32) bool {
	if exists(strings.TrimSuffix(b.path(n), "blk") + "key") {
		return true
	}
	f, err := OpenFile(b.path(n), os.O_RDONLY, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	mark := []byte{'c', 'm', 'p', byte(server.S2Compression)}
	start := make([]byte, len(mark))
	_, err = io.ReadFull(f, start)
	return err == nil && bytes.Equal(start, mark)
}
