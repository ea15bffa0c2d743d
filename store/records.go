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
)

// The layout of a record in a block file of nats-server 2.15, little-endian: length of the record with a bit for
// headers, sequence with bits for "erased" and "tombstone", nanoseconds, length of the subject; then the subject, the
// length of the headers and the headers, the payload, and a checksum of 8 bytes.
const (
	recordHead     = 22
	recordSum      = 8
	headersBit     = 1 << 31
	tombstoneBit   = 1 << 62
	erasedBit      = 1 << 63
	recordMost     = maxPayload + 1<<20
	recordsAtATime = 1 << 20 // bytes
)

// errRecord says that a block is not readable as we know the layout, or that a record that is due is not there. It is no
// damage yet: the server is asked then.
var errRecord = errors.New("unknown record layout")

// errSlice says that as much was read as was asked for.
var errSlice = errors.New("the slice is read")

// farAhead is how far the sequence of a record is beyond the one that is due where that is damage: no hole in a block is as
// wide. The server must not be asked: it would fill the hole in memory, sequence by sequence, until there is none left.
const farAhead = 1 << 20

// blockReader reads durable messages straight from the block files: four times as fast as through the server, and it is
// the disk that is looked at, not the server's cache. Whatever it does not understand it leaves to the server.
type blockReader struct {
	*blocks
	next, to uint64
	room     Header // for the headers of the next messages
	usual    int    // how many messages the last page had

	// raw, where there is one, is handed the records that are due as they stand, in place of messages: those of one read, until it says no
	// or has had slice bytes of them.
	raw   func(r []byte) bool
	slice int
	again []byte // what raw records are read into; they hold until the next are read

	number uint32 // of the block that is being read
	sum    checksum
	passed uint64 // the sequence of the last event that is as it was written
	amiss  error  // [altered], where a record that was passed over is; it may be the one that is due
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
	// The last block that begins at or before next; one before it where a beginning is altered.
	i := sort.Search(len(all), func(i int) bool { r, err := b.begin(all[i]); return err != nil || r.seq > b.next }) - 1
	for _, n := range all[max(i, 0):] {
		if b.next > b.to || ctx.Err() != nil {
			return ctx.Err()
		}
		if err := b.block(n, 0, recordsAtATime, send); err != nil {
			return err
		}
	}
	if b.next <= b.to {
		return b.missing()
	}
	return nil
}

// block reads from an offset in a block on, so many bytes at a time.
func (b *blockReader) block(n uint32, at int64, atATime int, send func(page) bool) error {
	b.number, b.sum = n, b.checksum(n)
	err := b.records(at, atATime, send)
	if errors.As(err, &altered{}) && b.foreign(n) {
		return errRecord
	}
	return err
}

func (b *blockReader) records(at int64, atATime int, send func(page) bool) error {
	f, err := OpenFile(b.path(b.number), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	var rest []byte
	want := atATime
	for b.next <= b.to {
		buf := b.buffer(max(want, len(rest)+recordHead))
		have := copy(buf, rest)
		n, err := io.ReadFull(f, buf[have:])
		buf = buf[:have+n]
		from := b.next
		p, used, need, perr := b.parse(buf)
		if len(p.messages) > 0 {
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
			want = max(atATime, need)
		case err != io.EOF && err != io.ErrUnexpectedEOF:
			return err
		case b.next <= b.to && len(rest) > 0:
			return b.altered()
		default:
			return nil
		}
	}
	return nil
}

// buffer returns room for n bytes. That of messages is not used again: they are slices of it.
func (b *blockReader) buffer(n int) []byte {
	if b.raw == nil {
		return make([]byte, n)
	}
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
			return p, used, 0, b.altered()
		}
		if length > len(r) {
			return p, used, length, nil
		}
		r = r[:length:length]
		seq, whole := binary.LittleEndian.Uint64(r[4:]), b.sum.holds(r)
		switch {
		case seq&(erasedBit|tombstoneBit) != 0 || seq < b.next:
			b.pass(seq, whole)
		case !whole || seq-b.next >= farAhead:
			return p, used, 0, b.altered()
		case seq > b.next:
			return p, used, 0, b.missing()
		case b.raw != nil:
			if !b.raw(r) {
				return p, used, 0, errRecord
			}
			b.next, b.passed = seq+1, seq
			if b.slice -= length; b.slice <= 0 {
				return p, used, 0, errSlice
			}
		default:
			m, err := b.record(r)
			if err != nil {
				return p, used, 0, err
			}
			p.messages = append(p.messages, m)
			b.next, b.passed = seq+1, seq
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
		return Message{}, errRecord // no event; what it is, is for who reads it from the server
	}
	headers := subjectEnd + 4
	data := headers + int(binary.LittleEndian.Uint32(r[subjectEnd:])) // which the checksum leaves out
	if data > body || data < headers {
		return Message{}, b.altered()
	}
	text := string(r[recordHead:data])
	subject := text[:subjectEnd-recordHead]
	h, ok := b.headers(text[headers-recordHead:], subject)
	if !ok {
		return Message{}, b.altered()
	}
	return Message{
		Seq: binary.LittleEndian.Uint64(r[4:]), At: time.Unix(0, int64(binary.LittleEndian.Uint64(r[12:]))).UTC(),
		Subject: subject, Header: h, Data: r[data:body:body],
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
	h = expanded(h, subject)
	b.room = b.room[:len(b.room)+len(h)]
	return h, true
}
