package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"sync"

	"ledge/store/natsblock"
)

// A record holds every message that the server takes.
const _ = uint(natsblock.MaxRecord - maxPayload - 1<<20)

const (
	// readChunk and oneChunk are how many bytes of a block file are read at a time: for many events, and for one. An event
	// that is kept in memory keeps its chunk. From a remembered offset on one event is most often in the first chunk.
	readChunk = 256 << 10
	oneChunk  = 2 * offsetBytes
)

// errRecord says that a block has another layout than expected, or that the record that is due is not in it. Retention may have
// removed it, so it is not damage yet.
var errRecord = errors.New("unknown record layout")

// altered is the error for a record that is not as the server wrote it. That is damage, and the server is not asked: its
// cache may have what the disk no longer has.
type altered struct {
	seq   uint64
	block uint32
}

func (a altered) Error() string {
	return fmt.Sprintf("its record in %d.blk is altered or cannot be read", a.block)
}

// blockReader reads durable messages straight from the block files: four times as fast as through the server, and it is
// the disk that is looked at, not the server's cache.
type blockReader struct {
	files    *logFiles
	scan     natsblock.Scan
	next, to uint64
	parser   parser
	usual    int  // how many messages the last page had
	seeks    bool // begins in the middle of a block, at a known offset
}

// blockReader returns what reads the messages from one sequence to another, both included, with a number of bytes at a time.
func (l *logFiles) blockReader(from, to uint64, chunk int) *blockReader {
	return &blockReader{files: l, scan: natsblock.Scan{Files: l.blocks, Prefix: l.public, Chunk: chunk, Keep: true}, next: from, to: to}
}

// singles are block readers for single events, with their buffers.
var singles = sync.Pool{New: func() any { return new(blockReader) }}

// mostRoom is the largest buffer that singles keep, in bytes: an event can be larger than a chunk.
const mostRoom = 256 << 10

// readNear reads a few messages from one sequence to another, both included. If a read has passed them before, it begins near them, and reads
// one block file and no folder. It returns fewer messages if one cannot be read.
func (l *logFiles) readNear(ctx context.Context, from, to uint64) (found []Message) {
	b := singles.Get().(*blockReader)
	room := b.scan.Room
	defer func() {
		room = b.scan.Room
		*b = blockReader{}
		if len(room) <= mostRoom {
			b.scan.Room = room
		}
		singles.Put(b)
	}()
	add := func(p page) bool { found = append(found, p.messages...); return true }
	begin := func() {
		found, *b = nil, *l.blockReader(from, to, oneChunk)
		b.scan.Keep, b.scan.Room, b.seeks = false, room, true
	}
	begin()
	if n, ok := l.offsets.findBlock(from, to); ok && b.block(n, add) == nil && b.next > to {
		return found
	}
	begin()
	_ = b.read(ctx, add)
	return found
}

const (
	// offsetBytes is the distance in a block between two messages whose offsets are remembered.
	offsetBytes = 8 << 10
	// mostOffsetBlocks is the number of blocks whose offsets are remembered: some 16 KiB for each. With one more, all are forgotten.
	mostOffsetBlocks = 256
)

// blockOffsets has the offsets of some messages of the blocks from which single events were read, so that the next such read does not go
// over its block from the start. A wrong offset does no harm: no record is taken without its checksum, sequence and chain hash.
type blockOffsets struct {
	mu sync.Mutex
	of map[uint32][]messageOffset // by number of the block, ascending
}

// messageOffset is the offset of the record of a message in its block, in bytes.
type messageOffset struct {
	seq uint64
	at  int64
}

// seek has a scan of a block begin near a message.
func (o *blockOffsets) seek(s *natsblock.Scan, seq uint64) {
	n := s.Block
	s.Offset, s.Passed = o.findBefore(n, seq), func(seq uint64, at int64) { o.add(n, seq, at) }
}

// add remembers the offset of a message, unless one near it or behind it is known.
func (o *blockOffsets) add(block uint32, seq uint64, at int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.of[block]
	if n := len(list); n > 0 && (at < list[n-1].at+offsetBytes || seq <= list[n-1].seq) {
		return
	}
	if o.of == nil || list == nil && len(o.of) == mostOffsetBlocks {
		o.of = map[uint32][]messageOffset{}
	}
	o.of[block] = append(list, messageOffset{seq, at})
}

// findBlock returns the block that has all messages from one sequence to another, if their offsets are known; ok is false if not.
func (o *blockOffsets) findBlock(from, to uint64) (block uint32, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for block, list := range o.of {
		if list[0].seq <= from && to <= list[len(list)-1].seq {
			return block, true
		}
	}
	return 0, false
}

// findBefore returns the offset of the last known message up to a sequence; 0 for none.
func (o *blockOffsets) findBefore(block uint32, seq uint64) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.of[block]
	behind := sort.Search(len(list), func(i int) bool { return list[i].seq > seq })
	if behind == 0 {
		return 0
	}
	return list[behind-1].at
}

// forget forgets all offsets.
func (o *blockOffsets) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of = nil
}

// read sends pages from b.next on until b.to, until something is not as expected, or until send says no. b.next is the
// first message that was not read; the error is [altered] where that is damage.
func (b *blockReader) read(ctx context.Context, send func(page) bool) error {
	all, err := b.scan.List()
	if err != nil || len(all) == 0 {
		return err
	}
	for _, n := range all[b.files.holding(all, b.next):] {
		if b.next > b.to || ctx.Err() != nil {
			return ctx.Err()
		}
		if err := b.block(n, send); err != nil {
			return err
		}
	}
	if b.next <= b.to {
		return b.why(all[len(all)-1])
	}
	return nil
}

// block reads what is due of one block.
func (b *blockReader) block(n uint32, send func(page) bool) (err error) {
	b.scan.Block, b.scan.Skip = n, b.next-1
	if b.seeks {
		b.files.offsets.seek(&b.scan, b.next)
	}
	p, bytes := page{}, 0
	flush := func() bool {
		sent := len(p.messages) == 0 || send(p)
		if len(p.messages) > 0 { // else the block ends with the page before
			b.usual = len(p.messages)
		}
		p, bytes = page{}, 0
		return sent
	}
	for r, failed := range b.scan.Records() {
		if err = failed; err == nil && (!r.IsMessage() || r.Seq() < b.next) {
			continue
		}
		var m Message
		if err == nil {
			m, err = b.due(r, n)
		}
		if !b.scan.Keep {
			m.Data = slices.Clone(m.Data)
		}
		if err != nil {
			break
		}
		if p.messages == nil {
			p.messages = make([]Message, 0, b.usual)
		}
		p.messages = append(p.messages, m)
		b.next = m.Seq + 1
		if bytes += len(r.Raw); (bytes >= b.scan.Chunk || b.next > b.to) && !flush() {
			return context.Canceled
		}
		if b.next > b.to {
			return nil
		}
	}
	if !flush() {
		return context.Canceled
	}
	if _, bad := errors.AsType[*natsblock.Bad](err); bad || errors.Is(err, errNotDue) {
		return b.why(n)
	}
	return err
}

// errNotDue says that the next record is not the one that is due; [blockReader.why] tells why.
var errNotDue = errors.New("not the record that is due")

func (b *blockReader) due(r natsblock.Record, n uint32) (Message, error) {
	if r.Seq() > b.next {
		return Message{}, errNotDue
	}
	m, err := b.parser.message(r)
	if errors.Is(err, errHeaders) {
		err = altered{b.next, n}
	}
	return m, err
}

// why returns why the record that is due is not in a block. It goes over the block and the one before it, where that record may be too.
// The error is [altered] if a record before the next good one is not as it was written. Else it is errRecord: the record is missing, or
// retention has removed it.
func (b *blockReader) why(block uint32) error {
	due := b.next
	for _, n := range []uint32{block - 1, block} {
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
	scan := natsblock.Scan{Files: b.scan.Files, Block: n, Prefix: b.scan.Prefix, Chunk: readChunk}
	for r, err := range scan.Records() {
		if errors.Is(err, fs.ErrNotExist) {
			return due, nil // there is no such block, or it has gone
		}
		if err != nil {
			return due, altered{due, n}
		}
		if !r.IsMessage() {
			continue
		}
		switch seq := r.Seq(); {
		case seq > b.next && seq-b.next >= natsblock.MaxGap:
			return due, altered{due, n}
		case seq > b.next:
			return due, nil
		default:
			due = seq + 1
		}
	}
	return due, nil
}

// unread is the error for an event that a [blockReader] did not read, with the reader's error.
func (l *logFiles) unread(seq uint64, failed error) error {
	a, isAltered := errors.AsType[altered](failed)
	switch {
	case isAltered:
		return l.damage(a.seq, "%v", a)
	case failed == nil || errors.Is(failed, errRecord):
		return l.damage(seq, "it is missing or cannot be read")
	}
	return fmt.Errorf("%s: %w", l.name, failed)
}

// fieldsAtATime is the largest number of headers for which there is room at once. The first message has room for its own, and then the room
// doubles.
const fieldsAtATime = 256

// parser makes messages of records.
type parser struct {
	room    Header // for the headers of the next messages
	subject string // of the last message: it is nearly always the same
}

// errHeaders says that the headers of a record are not those that the server writes.
var errHeaders = errors.New("its headers are not in the form of the server")

// message makes a message of a whole record. Its payload is that of the record.
func (p *parser) message(r natsblock.Record) (Message, error) {
	subject, headers, data := r.Parts()
	if headers == nil {
		return Message{}, errRecord // no event
	}
	if string(subject) != p.subject {
		p.subject = string(subject)
	}
	h, ok := p.headers(string(headers), p.subject)
	if !ok {
		return Message{}, errHeaders
	}
	return Message{Seq: r.Seq(), At: r.At().UTC(), Subject: publicSubject(p.subject, h.Get(headerSubject)), Header: h, Data: data}, nil
}

// headers reads the header block of a message but those that are the server's.
func (p *parser) headers(block, subject string) (Header, bool) {
	text, ok := strings.CutPrefix(block, "NATS/1.0\r\n")
	if !ok {
		return nil, false
	}
	most := strings.Count(text, "\n") + mostLeftOut
	if cap(p.room)-len(p.room) < most {
		p.room = make(Header, 0, max(most, min(2*cap(p.room), fieldsAtATime)))
	}
	h := p.room[len(p.room) : len(p.room) : len(p.room)+most]
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
	p.room = p.room[:len(p.room)+len(h)]
	return h, true
}
