package store

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"ledge/store/osfile"
)

// The layout of a record in a block file of nats-server 2.15, little-endian: length of the record with a bit for
// headers, sequence with bits for "erased" and "tombstone", nanoseconds, length of the subject; then the subject, the
// length of the headers and the headers, the payload, and a checksum of 8 bytes.
const (
	recordHead   = 22
	recordSum    = 8
	headersBit   = 1 << 31
	tombstoneBit = 1 << 62
	erasedBit    = 1 << 63
	recordMost   = maxPayload + 1<<20
	// readChunk and oneChunk are how many bytes of a block file are read at a time: for many events, and for one. An event
	// that is kept in memory keeps its chunk.
	readChunk = 1 << 20
	oneChunk  = 64 << 10
)

// errRecord says that a block has another layout than expected, or that the record that is due is not in it. Retention may have
// removed it, so it is not damage yet.
var errRecord = errors.New("unknown record layout")

// errNotDue says that the next record is not the one that is due, or is not as it was written; [blockReader.why] tells.
var errNotDue = errors.New("not the record that is due")

// errSlice says that the slice is complete.
var errSlice = errors.New("the slice is read")

// farAhead is how far the sequence of a record is beyond the one that is due where that is damage: no hole in a block is as
// wide. The server must not be asked: it would fill the hole in memory, sequence by sequence, until there is none left.
const farAhead = 1 << 20

// blockReader reads durable messages straight from the block files: four times as fast as through the server, and it is
// the disk that is looked at, not the server's cache.
type blockReader struct {
	*blocks
	next, to uint64
	chunk    int    // bytes to read at a time
	room     Header // for the headers of the next messages
	usual    int    // how many messages the last page had

	// raw, where there is one, is handed the records that are due as they stand, in place of messages: those of one read, until it says no
	// or has had slice bytes of them.
	raw   func(r []byte) bool
	slice int
	again []byte // the buffer that is read into. Raw records hold until the next are read

	number uint32 // of the block that is being read
	offset int64  // in that block, of what is not parsed yet
	sum    checksum
}

// fieldsAtATime is for how many headers there is room at once.
const fieldsAtATime = 256

// read sends pages from b.next on until b.to, until something is not as expected, or until send says no. b.next is the
// first message that was not read; the error is [altered] where that is damage.
func (b *blockReader) read(ctx context.Context, send func(page) bool) error {
	all, err := b.list()
	if err != nil || len(all) == 0 {
		return err
	}
	for _, n := range all[b.holding(all, b.next):] {
		if b.next > b.to || ctx.Err() != nil {
			return ctx.Err()
		}
		if err := b.block(n, 0, send); err != nil {
			return err
		}
	}
	if b.next <= b.to {
		return b.why()
	}
	return nil
}

// holding returns the index of the last block that begins at or before a sequence. If the beginning of a block is altered, it
// is the index of the block before that.
func (b *blocks) holding(all []uint32, seq uint64) int {
	after := func(i int) bool {
		r, err := b.begin(all[i])
		return err != nil || r.seq > seq
	}
	return max(sort.Search(len(all), after)-1, 0)
}

// block reads from an offset in a block on.
func (b *blockReader) block(n uint32, at int64, send func(page) bool) error {
	b.number, b.sum, b.offset = n, b.checksum(n), at
	err := b.records(send)
	if errors.Is(err, errNotDue) {
		return b.why()
	}
	return err
}

func (b *blockReader) records(send func(page) bool) error {
	f, err := osfile.Open(b.path(b.number), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(b.offset, io.SeekStart); err != nil {
		return err
	}
	var rest []byte
	want := b.chunk
	for b.next <= b.to {
		buf := b.buffer(max(want, len(rest)+recordHead))
		have := copy(buf, rest)
		n, err := io.ReadFull(f, buf[have:])
		buf = buf[:have+n]
		from := b.next
		p, used, need, perr := b.parse(buf)
		b.offset += int64(used)
		if len(p.messages) > 0 {
			b.again = nil // the messages are slices of it
			if !send(p) {
				return context.Canceled
			}
		}
		if perr != nil {
			return perr
		}
		if b.raw != nil && b.next > from {
			return errSlice
		}
		rest = buf[used:]
		switch {
		case err == nil:
			want = max(b.chunk, need)
		case b.next <= b.to && (len(rest) > 0 || err != io.EOF && err != io.ErrUnexpectedEOF): // or the disk cannot read it
			return errNotDue
		default:
			return nil
		}
	}
	return nil
}

// buffer returns a buffer of n bytes. It begins with what the last one had, if that is used again.
func (b *blockReader) buffer(n int) []byte {
	if cap(b.again) < n {
		b.again = make([]byte, n)
	}
	return b.again[:n]
}

// parse returns the messages in buf that are due, how many bytes they and what was skipped took, and how many bytes the
// record needs that is not all there.
func (b *blockReader) parse(buf []byte) (p page, used, need int, err error) {
	p.messages = make([]Message, 0, b.usual)
	defer func() { b.usual = len(p.messages) }()
	for b.next <= b.to && len(buf)-used >= recordHead {
		r := buf[used:]
		length := recordLength(r)
		if length == 0 {
			return p, used, 0, errNotDue
		}
		if length > len(r) {
			return p, used, length, nil
		}
		r = r[:length:length]
		seq := binary.LittleEndian.Uint64(r[4:])
		switch {
		case seq&(erasedBit|tombstoneBit) != 0 || seq < b.next: // it is not asked for
		case seq > b.next || !b.sum.holds(r):
			return p, used, 0, errNotDue
		case b.raw != nil:
			if !b.raw(r) {
				return p, used, 0, errRecord
			}
			b.next = seq + 1
			if b.slice -= length; b.slice <= 0 {
				return p, used, 0, errSlice
			}
		default:
			m, err := b.record(r)
			if err != nil {
				return p, used, 0, err
			}
			p.messages = append(p.messages, m)
			b.next = seq + 1
		}
		used += length
	}
	return p, used, 0, nil
}

// recordLength returns the length that the head of a record says, 0 where that can be none.
func recordLength(head []byte) int {
	length := int(binary.LittleEndian.Uint32(head) &^ headersBit)
	if length < recordHead+recordSum || length > recordMost {
		return 0
	}
	return length
}

// record takes one record apart whose checksum holds.
func (b *blockReader) record(r []byte) (Message, error) {
	subjectEnd := recordHead + int(binary.LittleEndian.Uint16(r[20:]))
	body := len(r) - recordSum
	if binary.LittleEndian.Uint32(r)&headersBit == 0 {
		return Message{}, errRecord // no event
	}
	headers := subjectEnd + 4
	data := headers + int(binary.LittleEndian.Uint32(r[subjectEnd:])) // which the checksum leaves out
	if data > body || data < headers {
		return Message{}, altered{b.next, b.number}
	}
	text := string(r[recordHead:data])
	subject := text[:subjectEnd-recordHead]
	h, ok := b.headers(text[headers-recordHead:], subject)
	if !ok {
		return Message{}, altered{b.next, b.number}
	}
	return Message{
		Seq: binary.LittleEndian.Uint64(r[4:]), At: time.Unix(0, int64(binary.LittleEndian.Uint64(r[12:]))).UTC(),
		Subject: publicSubject(subject, h.Get(headerSubject)), Header: h, Data: r[data:body:body],
	}, nil
}

// headers reads the header block of a message but those that are the server's.
func (b *blockReader) headers(block, subject string) (Header, bool) {
	text, ok := strings.CutPrefix(block, "NATS/1.0\r\n")
	if !ok {
		return nil, false
	}
	most := strings.Count(text, "\n") + mostLeftOut
	if cap(b.room)-len(b.room) < most {
		b.room = make(Header, 0, max(most, fieldsAtATime))
	}
	h := b.room[len(b.room) : len(b.room) : len(b.room)+most]
	highest := ""
	for text != "\r\n" {
		line, rest, ok := strings.Cut(text, "\r\n")
		name, value, colon := strings.Cut(line, ": ")
		if !ok || !colon || name <= highest && h.has(name) { // most names are the highest so far
			return nil, false
		}
		highest, text = max(highest, name), rest
		if !strings.HasPrefix(name, serversOwn) {
			h = append(h, Field{name, value})
		}
	}
	h = longHeader(h, subject)
	b.room = b.room[:len(b.room)+len(h)]
	return h, true
}
