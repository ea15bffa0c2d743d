package store

import (
	"encoding/binary"
	"fmt"
	"os"
)

// read reads a block into memory, its first mostBlock bytes at most.
func (in *inspector) read(n uint32) (text []byte, size int64, err error) {
	in.buf, size, in.unread, err = in.files.load(n, in.buf)
	return in.buf, size, err
}

// bytesFrom is how many bytes the blocks have from a fault on.
func (in *inspector) bytesFrom(f Fault) int64 {
	all, _ := in.files.list()
	sum := -f.Offset
	for _, n := range all {
		if st, err := os.Lstat(in.files.path(n)); n >= f.Block && err == nil {
			sum += st.Size()
		}
	}
	return sum
}

// records takes the records of a block one after the other. Behind one that is not whole it looks for the next that is.
func (in *inspector) records(n uint32, text []byte) error {
	budget := 8*len(text) + readChunk // bytes to hash in looking for whole records
	for at := 0; at < len(text); {
		r, m, ok := in.whole(text[at:])
		if !ok || in.unread.in(at, at+len(r)) != nil {
			next := in.next(text, at, &budget)
			in.bad(n, text, at, next)
			at = next
			continue
		}
		if seq := binary.LittleEndian.Uint64(r[4:]); seq&(erasedBit|tombstoneBit) != 0 {
			if seq&tombstoneBit != 0 {
				in.removed = max(in.removed, seq&^(erasedBit|tombstoneBit))
			}
		} else {
			e := Record{Message: m, Block: n, Offset: int64(at), Raw: r, Starts: beginsGroup(r)}
			if err := in.event(e); err != nil {
				return err
			}
		}
		at += len(r)
	}
	return nil
}

// whole returns the record at the beginning of text if its checksum holds and it can be taken apart.
func (in *inspector) whole(text []byte) (r []byte, m Message, ok bool) {
	if len(text) < recordHead+recordSum {
		return nil, m, false
	}
	n := recordLength(text)
	if n == 0 || n > len(text) || recordHead+int(binary.LittleEndian.Uint16(text[20:]))+recordSum > n {
		return nil, m, false
	}
	r = text[:n:n]
	if !in.parser.sum.holds(r) {
		return nil, m, false
	}
	if binary.LittleEndian.Uint64(r[4:])&(erasedBit|tombstoneBit) != 0 {
		return r, m, true
	}
	in.parser.room = nil
	m, err := in.parser.record(r)
	return r, m, err == nil
}

// next returns where behind a record that is not whole the next whole one begins; the end of the text where there is none.
func (in *inspector) next(text []byte, at int, budget *int) int {
	if len(text)-at >= recordHead {
		if n := recordLength(text[at:]); n > 0 && at+n < len(text) { // most often its length is right
			if _, _, ok := in.whole(text[at+n:]); ok {
				return at + n
			}
		}
	}
	for at++; len(text)-at >= recordHead+recordSum && *budget > 0; at++ {
		if !in.plausible(text[at:]) {
			continue
		}
		*budget -= recordLength(text[at:])
		if _, _, ok := in.whole(text[at:]); ok {
			return at
		}
	}
	return len(text)
}

// plausible reports whether a record that could follow may begin here. It costs next to nothing.
func (in *inspector) plausible(text []byte) bool {
	n := recordLength(text)
	if n == 0 || n > len(text) {
		return false
	}
	seq := binary.LittleEndian.Uint64(text[4:])
	if seq&(erasedBit|tombstoneBit) != 0 {
		return n == recordHead+recordSum
	}
	least := in.due + 1
	if in.due == 0 && in.start != nil {
		least = in.start.First
	}
	return in.due == 0 && in.start == nil || seq >= least && seq-least < farAhead
}

// bad takes note of bytes that do not make a whole record.
func (in *inspector) bad(n uint32, text []byte, at, next int) {
	f := Fault{Seq: in.due, Block: n, Offset: int64(at), Bytes: int64(next - at), What: "its record is altered or cut off"}
	if f.Seq == 0 && in.start != nil {
		in.starts(in.start.First)
		f.Seq = in.due
	}
	after := uint64(0)
	if next < len(text) {
		if seq := binary.LittleEndian.Uint64(text[next+4:]); seq&(erasedBit|tombstoneBit) == 0 {
			after = seq
		}
	}
	if f.Seq == 0 {
		f.Seq = max(after, 2) - 1
	}
	if after > f.Seq {
		f.To = after - 1
	}
	err := in.unread.in(at, next)
	if err != nil { // a crash tears a write, but leaves bytes that can be read
		f.What = fmt.Sprintf("its record cannot be read: %v", err)
		in.keepPending()
	}
	in.fault(f, err == nil)
	in.lose()
}
