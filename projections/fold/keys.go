package fold

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/google/uuid"
)

// Everything is in one bucket, and the first byte of a key says what it is. One tree costs a small transaction fewer
// pages than a tree for each table. The ids are part of the schema: a change of one is a new schema.
const (
	metaID  byte = 0x00 // checkpoint
	countID byte = 0x01 // index id, value → how many entities the index has there, and what they weigh: a tally

	// FirstTable to LastTable may be the ids of tables: table id, name → row.
	FirstTable byte = 0x02
	LastTable  byte = 0x3e

	bucketID byte = 0x3f // range, bucket → how many entries there are in it: a tally, see counters.go

	// FirstIndex and above are the ids of indexes: range and suffix → entry.
	FirstIndex byte = 0x40
)

// bbolt refuses keys above 32 KiB, and long ones make pages that hold little else. What is longer than these is cut
// there and told apart by its SHA-256, so that no name or label in an event can make it impossible to apply.
const (
	longestName  = 1023 // bytes
	longestValue = 255  // bytes
)

// appendCut appends s, or its first bytes and its digest, which together are one byte longer than longest.
func appendCut(dst []byte, s string, longest int) []byte {
	if len(s) <= longest {
		return append(dst, s...)
	}
	sum := sha256.Sum256([]byte(s))
	dst = append(dst, s[:longest+1-len(sum)]...)
	return append(dst, sum[:]...)
}

// appendRow appends the key of an entity.
func appendRow(dst []byte, id byte, name string) []byte {
	return appendName(append(dst, id), name)
}

// appendRange appends what all entries of an index at value begin with.
func appendRange(dst []byte, id byte, value string) []byte {
	dst = append(dst, id, 0, 0)
	from := len(dst)
	dst = appendCut(dst, value, longestValue)
	binary.BigEndian.PutUint16(dst[from-2:], uint16(len(dst)-from))
	return dst
}

// appendRangeAt is appendRange for a value as it is in a key.
func appendRangeAt(dst []byte, id byte, value []byte) []byte {
	return append(binary.BigEndian.AppendUint16(append(dst, id), uint16(len(value))), value...)
}

// appendCount appends the key of the counter of an index at value.
func appendCount(dst []byte, id byte, value string) []byte {
	return appendCut(append(dst, countID, id), value, longestValue)
}

// An index entry is this suffix, which is the same in all indexes with the same order of one entity: the time, the
// sequence of the event that put the entity last, and its row key without the first byte.
const suffixHead = 16

// seqOf returns the sequence in a suffix.
func seqOf(suffix []byte) uint64 { return binary.BigEndian.Uint64(suffix[8:]) }

// appendTime appends at so that bytes sort as times do, negative ones included.
func appendTime(dst []byte, at int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(at)^1<<63)
}

func timeOf(b []byte) int64 { return int64(binary.BigEndian.Uint64(b) ^ 1<<63) }

// after returns the first key behind all keys that begin with prefix; no prefix here is all 0xff.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; ; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
}

// A name, in row keys and at the end of index entries, is a byte that says how it is written, and the name.
const (
	plainName  byte = 0 // as it is; what is too long is cut
	packedName byte = 1 // the 16 bytes of a UUID in its canonical form, which sort as that does
)

// packedLength is that of a packed name in bytes.
const packedLength = 1 + 16

// appendName appends a name as it is in keys.
func appendName(dst []byte, name string) []byte {
	if u, ok := packed(name); ok {
		return append(append(dst, packedName), u[:]...)
	}
	return appendCut(append(dst, plainName), name, longestName)
}

// PackName returns a name as it is in keys, but never cut.
func PackName(name string) []byte {
	if IsWhole(name) {
		return appendName(nil, name)
	}
	return append([]byte{plainName}, name...)
}

// NameIn returns the name that is in a key, or, of a plain one that is too long, what is left of it.
func NameIn(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if b[0] != packedName || len(b) != packedLength {
		return string(b[1:])
	}
	return uuid.UUID(b[1:]).String()
}

// IsWhole reports whether nameIn gives back a name.
func IsWhole(name string) bool { return len(name) <= longestName }

// packed returns the bytes of a UUID whose digits are in groups of 8, 4, 4, 4 and 12 and in lower case.
func packed(name string) (u uuid.UUID, ok bool) {
	if len(name) != 36 || strings.ToLower(name) != name {
		return u, false
	}
	u, err := uuid.Parse(name)
	return u, err == nil
}
