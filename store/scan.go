package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"ledge/store/natsfiles"
)

// mostBlock is more than a block file can have: the server begins a new one at 8 MB, whatever the size of the last message.
const mostBlock = 16<<20 + recordMost

// scan is what Ledge's own reader found in a block file, before the server has opened it.
type scan struct {
	natsfiles.Block
	size     int64
	checksum [recordSum]byte // of the last record that is as it was written
	good     int64           // bytes up to the first record that is not the one that is due; size where there is none
	group    int64           // where the last group begins; -1 where none does
	tomb     uint64          // the highest sequence of a tombstone
	later    later           // what is behind good
}

// later is what a block has behind a record that is not as it was written.
type later struct {
	records bool // some are whole
	groups  bool // one of them begins a group: what is before it was durable
}

// scanner goes over block files, one after another.
type scanner struct {
	*blocks
	public string // what all subjects begin with
	buf    []byte
	unread error // why the disk could not read a part of a block that was read
}

// read returns all of a block; it holds until the next read.
func (s *scanner) read(n uint32) ([]byte, error) {
	text, size, bad, err := s.load(n, s.buf)
	if err == nil && size > mostBlock {
		err = fmt.Errorf("%s is no block file of the server: %d bytes", s.path(n), size)
	}
	s.buf = text
	if bad.err != nil {
		s.unread = bad.err
	}
	return text, err
}

// block goes over a block whose first event is due, or any where due is 0, and calls each with every event, until one is
// not as it was written, or is not the one that is due.
func (s *scanner) block(n uint32, due uint64, each func(seq uint64, record []byte)) (scan, error) {
	b, err := s.read(n)
	k := scan{Block: natsfiles.Block{Number: n}, size: int64(len(b)), group: -1}
	if err != nil {
		return k, err
	}
	sum := s.checksum(n)
	for k.good < k.size {
		r, ok := s.whole(b[k.good:], sum)
		raw := uint64(0)
		if ok {
			raw = binary.LittleEndian.Uint64(r[4:])
		}
		seq := raw &^ (erasedBit | tombstoneBit)
		switch {
		case !ok || raw == 0 || raw == seq && due > 0 && seq != due:
			k.later = s.behind(b[k.good:], sum)
			return k, nil
		case raw&tombstoneBit != 0:
			k.tomb = max(k.tomb, seq)
		case raw == seq:
			k.event(seq, r)
			each(seq, r)
			due = seq + 1
		}
		k.good += int64(len(r))
		copy(k.checksum[:], r[len(r)-recordSum:])
	}
	return k, nil
}

// event takes one more event in.
func (k *scan) event(seq uint64, r []byte) {
	at := int64(binary.LittleEndian.Uint64(r[12:]))
	if k.First == 0 {
		k.First, k.FirstTime = seq, at
	}
	k.Last, k.LastTime = seq, at
	k.Bytes += uint64(len(r))
	if beginsGroup(r) {
		k.group = k.good
	}
}

// whole returns the record that b begins with, if it is as it was written.
func (s *scanner) whole(b []byte, sum checksum) (r []byte, ok bool) {
	if len(b) < recordHead {
		return nil, false
	}
	length := recordLength(b)
	if length == 0 || length > len(b) {
		return nil, false
	}
	r = b[:length:length]
	return r, sum.holds(r) && headersEnd(r)
}

// headersEnd holds the one length that is not under the checksum: the headers of a record end where it says.
func headersEnd(r []byte) bool {
	from, to := headersOf(r)
	return from == to || to <= len(r)-recordSum && to > from && bytes.HasSuffix(r[from:to], []byte("\r\n\r\n"))
}

// headersOf returns where the headers of a record begin and end; the same where it has none.
func headersOf(r []byte) (from, to int) {
	from = recordHead + int(binary.LittleEndian.Uint16(r[20:]))
	if binary.LittleEndian.Uint32(r)&headersBit == 0 {
		return from, from
	}
	from += 4
	if from > len(r) {
		return from, math.MaxInt
	}
	return from, int(min(int64(from)+int64(binary.LittleEndian.Uint32(r[from-4:])), math.MaxInt))
}

// groupMark is how the fence of a group's first event begins, see [fence]; a digit follows.
const groupMark = "\r\n" + headerFence + ": 0"

// beginsGroup reports whether a whole record is the first of a group.
func beginsGroup(r []byte) bool {
	from, to := headersOf(r)
	i := bytes.Index(r[from:to], []byte(groupMark))
	return i >= 0 && r[from+i+len(groupMark)] != '\r'
}

// behind looks for whole records in what begins with one that is not as it should be, at every byte.
func (s *scanner) behind(b []byte, sum checksum) (found later) {
	for at := 0; at+recordHead+recordSum <= len(b) && !found.groups; {
		if !bytes.HasPrefix(b[at+recordHead:], []byte(s.public)) {
			at++
			continue
		}
		r, ok := s.whole(b[at:], sum)
		if !ok {
			at++
			continue
		}
		found.records = true
		found.groups = beginsGroup(r)
		at += len(r)
	}
	return found
}

func (l later) or(other later) later {
	return later{l.records || other.records, l.groups || other.groups}
}
