package projections

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Everything is in one bucket, and the first byte of a key says what it is. One tree costs a small transaction fewer
// pages than a tree for each table. The ids are part of the schema: a change of one is a new schema.
const (
	metaID  byte = 0x00 // checkpoint
	countID byte = 0x01 // index id, value → how many entities the index has there, and what they weigh: a tally

	usesID          byte = 0x02
	seedsID         byte = 0x03
	cursorsID       byte = 0x04
	profilesID      byte = 0x05
	servicesID      byte = 0x06
	subscriptionsID byte = 0x07
	devicesID       byte = 0x08
	notificationsID byte = 0x09
	transmissionsID byte = 0x0a
	readingsID      byte = 0x0b
	idsID           byte = 0x0c
	watchersID      byte = 0x0d
	answersID       byte = 0x0e
	answerOrderID   byte = 0x0f
	cleanupsID      byte = 0x10
	dataEventsID    byte = 0x11
	usersID         byte = 0x12
	tokensID        byte = 0x13
	lastTableID          = tokensID

	bucketID byte = 0x3f // range, bucket → how many entries there are in it: a tally, see counters.go

	indexID byte = 0x40 // and above: the entries of the indexes, see the tables in indexes.go
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

// splitKey splits the key of an entry of an index.
func splitKey(key []byte) (prefix, suffix []byte, err error) {
	if len(key) < 3 || len(key) < 3+int(binary.BigEndian.Uint16(key[1:])) {
		return nil, nil, fmt.Errorf("key of an index is cut: %x", key)
	}
	n := 3 + int(binary.BigEndian.Uint16(key[1:]))
	return key[:n], key[n:], nil
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
