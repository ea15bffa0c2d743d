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

	"ledge/store/osfile"
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

func (a altered) Error() string {
	return fmt.Sprintf("its record in %d.blk is altered or cannot be read", a.block)
}

// why returns why the record that is due is not where it should be. It goes over the block that is being read, and the one
// before it, where that record may be too. The error is [altered] if a record before the next good one is not as it was
// written. Else it is errRecord: the record is missing, or retention has removed it.
func (b *blockReader) why() error {
	due := b.next
	for _, n := range []uint32{b.number - 1, b.number} {
		next, err := b.firstAltered(n, due)
		if err != nil {
			return err
		}
		due = next
	}
	return errRecord
}

// firstAltered returns [altered] for the first record of a block that is not as it was written, unless an event behind b.next comes
// before it. due is the sequence of the block's first event, and next of the first one behind the block.
func (b *blockReader) firstAltered(n uint32, due uint64) (next uint64, err error) {
	s := scanner{blocks: b.blocks}
	text, err := s.read(n)
	if err != nil {
		return due, nil //nolint:nilerr // there is no such block, or it has gone
	}
	sum := b.checksum(n)
	for at := 0; at < len(text); {
		r, ok := s.whole(text[at:], sum)
		if !ok {
			return due, altered{due, n}
		}
		seq := binary.LittleEndian.Uint64(r[4:])
		if seq&(erasedBit|tombstoneBit) == 0 {
			switch {
			case seq > b.next && seq-b.next >= farAhead:
				return due, altered{due, n}
			case seq > b.next:
				return due, nil
			}
			due = seq + 1
		}
		at += len(r)
	}
	return due, nil
}

// foreign reports whether a block is compressed or encrypted. Ledge has the server write none.
func (b *blocks) foreign(n uint32) bool {
	if exists(strings.TrimSuffix(b.path(n), "blk") + "key") {
		return true
	}
	f, err := osfile.Open(b.path(n), os.O_RDONLY, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	mark := []byte{'c', 'm', 'p', byte(server.S2Compression)}
	start := make([]byte, len(mark))
	_, err = io.ReadFull(f, start)
	return err == nil && bytes.Equal(start, mark)
}
