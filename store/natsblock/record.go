package natsblock

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/minio/highwayhash"
)

// The layout of a record, little-endian: 4 bytes length of the record with a bit for headers, 8 bytes sequence with bits for "erased" and
// "tombstone", 8 bytes nanoseconds since 1970, 2 bytes length of the subject; then the subject, 4 bytes length of the headers if there are
// any, the headers, the payload, and 8 bytes checksum.
const (
	headBytes    = 22
	sumBytes     = 8
	headersBit   = 1 << 31
	tombstoneBit = 1 << 62
	erasedBit    = 1 << 63

	// Overhead is what the server writes around a message, at the least, in bytes.
	Overhead = headBytes + sumBytes
	// MaxRecord is the longest record, in bytes.
	MaxRecord = 33 << 20
	// BlockSize is at which size the server begins a new block, in bytes. It does not look at the size of the last message before.
	BlockSize = 8 << 20
	// MaxBlock is more than a block file can have, in bytes.
	MaxBlock = 2*BlockSize + MaxRecord
)

// Record is one record of a block file, as it stands there.
type Record struct {
	Offset int64 // in the block
	Raw    []byte
}

// End is the offset behind the record.
func (r Record) End() int64 { return r.Offset + int64(len(r.Raw)) }

// Seq returns the sequence, also that of an erased message and of one that a tombstone names.
func (r Record) Seq() uint64 { return r.flags() &^ (erasedBit | tombstoneBit) }

// IsMessage reports whether the record is a message that was not erased.
func (r Record) IsMessage() bool { return r.flags()&(erasedBit|tombstoneBit) == 0 }

// IsTombstone reports whether the record says that the server removed a message.
func (r Record) IsTombstone() bool { return r.flags()&tombstoneBit != 0 }

func (r Record) flags() uint64 { return binary.LittleEndian.Uint64(r.Raw[4:]) }

// Nanos is when the server stored the message, in nanoseconds since 1970.
func (r Record) Nanos() int64 { return int64(binary.LittleEndian.Uint64(r.Raw[12:])) }

// At is [Record.Nanos] as a time.
func (r Record) At() time.Time { return time.Unix(0, r.Nanos()) }

// Parts returns the parts of a whole record. The headers have their first line and the empty one at their end; nil for none.
func (r Record) Parts() (subject, headers, data []byte) {
	subject, headers, data, _ = parts(r.Raw)
	return subject, headers, data
}

// parts reports also whether the lengths in a record fit.
func parts(r []byte) (subject, headers, data []byte, ok bool) {
	end := len(r) - sumBytes
	at := headBytes + int(binary.LittleEndian.Uint16(r[20:]))
	if at > end {
		return nil, nil, nil, false
	}
	subject = r[headBytes:at:at]
	if binary.LittleEndian.Uint32(r)&headersBit == 0 {
		return subject, nil, r[at:end:end], true
	}
	if at += 4; at > end || int64(binary.LittleEndian.Uint32(r[at-4:])) > int64(end-at) {
		return nil, nil, nil, false
	}
	to := at + int(binary.LittleEndian.Uint32(r[at-4:]))
	return subject, r[at:to:to], r[to:end:end], true
}

// headersEnd ends the headers of a message. It is nowhere else in them.
var headersEnd = []byte("\r\n\r\n")

// length returns the length that the head of a record says, 0 if that is impossible.
func length(head []byte) int {
	n := binary.LittleEndian.Uint32(head) &^ headersBit
	if n < Overhead || n > MaxRecord {
		return 0
	}
	return int(n)
}

// Checksum computes the 8 bytes that end each record of one block: HighwayHash-64, little-endian, over sequence and time, subject, headers
// and payload. Its key is the SHA-256 of the stream's name and the block's number. The lengths are not under it. With another length of the
// record or the subject it is over other bytes; for that of the headers see [Checksum.Whole].
type Checksum struct{ hash *highwayhash.Digest64 }

// ChecksumOf returns the checksum for one block of a stream.
func ChecksumOf(stream string, block uint32) Checksum {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", stream, block))
	hash, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // the key is not of 32 bytes
	}
	return Checksum{hash}
}

// Whole returns the record at the beginning of b if it is as it was written: its lengths fit, its headers end where it says, and its
// checksum is right.
func (c Checksum) Whole(b []byte) (raw []byte, ok bool) {
	if len(b) < Overhead {
		return nil, false
	}
	n := length(b)
	if n == 0 || n > len(b) {
		return nil, false
	}
	raw = b[:n:n]
	subject, headers, data, ok := parts(raw)
	if !ok || headers != nil && bytes.Index(headers, headersEnd) != len(headers)-len(headersEnd) {
		return nil, false
	}
	return raw, c.of(raw, subject, headers, data) == binary.LittleEndian.Uint64(raw[n-sumBytes:])
}

// Seal ends a record, which has its full length, with its checksum. Only tests write blocks.
func (c Checksum) Seal(raw []byte) {
	if subject, headers, data, ok := parts(raw); ok {
		binary.LittleEndian.PutUint64(raw[len(raw)-sumBytes:], c.of(raw, subject, headers, data))
	}
}

func (c Checksum) of(raw, subject, headers, data []byte) uint64 {
	c.hash.Reset()
	_, _ = c.hash.Write(raw[4:20])
	_, _ = c.hash.Write(subject)
	_, _ = c.hash.Write(headers)
	_, _ = c.hash.Write(data)
	return c.hash.Sum64()
}

// Encode returns the record of a message, stored at a time in nanoseconds since 1970. The headers have their first line and the empty one at
// their end; none are nil. The checksum is that of its block: see [Checksum.Seal].
func Encode(seq uint64, at int64, subject string, headers, data []byte) []byte {
	n, flags := Overhead+len(subject)+len(headers)+len(data), uint32(0)
	if headers != nil {
		n, flags = n+4, headersBit
	}
	r := make([]byte, 0, n)
	r = binary.LittleEndian.AppendUint32(r, uint32(n)|flags)
	r = binary.LittleEndian.AppendUint64(r, seq)
	r = binary.LittleEndian.AppendUint64(r, uint64(at))
	r = binary.LittleEndian.AppendUint16(r, uint16(len(subject)))
	r = append(r, subject...)
	if headers != nil {
		r = binary.LittleEndian.AppendUint32(r, uint32(len(headers)))
		r = append(r, headers...)
	}
	r = append(r, data...)
	return append(r, make([]byte, sumBytes)...)
}
