package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// stored is a message as it stands on the log. headers is the whole block, with its first line and the empty one at its end.
type stored struct {
	seq           uint64
	at            time.Time
	subject       string
	headers, data []byte
}

// search looks for messages from one sequence to another, both included, until it has found the most that are wanted, or so many bytes of
// them, or has read a slice. from is then where it goes on.
type search struct {
	from, to uint64
	filter   string // a subject, which may have wildcards; empty for all
	most     int
	bytes    int

	at    cursor   // of from
	found []stored // until the next slice
	room  []byte   // that they are in
}

// cursor is where in the block files a record is, or a record before it. Block 0 is an unknown place.
type cursor struct {
	block  uint32
	offset int64
}

// take takes a record in, and reports whether there is an end to it.
func (s *search) take(m stored) {
	s.found = append(s.found, m)
	s.most--
	s.bytes -= len(m.subject) + len(m.headers) + len(m.data)
}

func (s *search) full() bool { return s.most <= 0 || s.bytes <= 0 }

func (s *search) matches(subject string) bool {
	return s.filter == "" || s.filter == ">" || s.filter == subject || server.SubjectMatchesFilter(subject, s.filter)
}

// search goes on with a search for one slice. What the files do not give as expected is read as any other part of the log.
func (l *Log) search(ctx context.Context, s *search) error {
	if l.searchFiles(s) {
		return nil
	}
	s.at = cursor{}
	for m, err := range l.ReadRaw(ctx, s.from, min(s.to, s.from+pageEvents-1)) {
		if err != nil {
			return err
		}
		s.from = m.Seq + 1
		if s.matches(m.Subject) {
			s.take(m.stored())
		}
		if s.full() {
			return nil
		}
	}
	if len(s.found) == 0 { // retention has removed them meanwhile
		s.from = max(s.from, min(s.to, s.from+pageEvents-1)+1)
	}
	return ctx.Err()
}

// searchFiles reads a slice of a block file, and reports whether it came forward.
func (l *Log) searchFiles(s *search) bool {
	b := l.blockReader(s.from, s.to)
	if s.at.block == 0 {
		all, err := b.list()
		if err != nil || len(all) == 0 {
			return false
		}
		s.at.block = all[b.holding(all, s.from)]
	}
	b.chunk, b.slice, b.again = historySlice, historySlice, s.room
	b.raw = func(r []byte) bool {
		m, ok := parts(r)
		if ok && s.matches(m.subject) {
			s.take(m)
		}
		if s.full() || !ok {
			b.slice = 0
		}
		return ok
	}
	_ = b.block(s.at.block, s.at.offset, nil)
	if b.next == s.from && exists(b.path(s.at.block+1)) { // the block has no more
		_ = b.block(s.at.block+1, 0, nil)
	}
	s.at = cursor{b.number, b.offset}
	s.room = b.again[:0]
	if cap(s.room) > 4*historySlice { // that of one large message
		s.room = nil
	}
	if b.next == s.from {
		return false
	}
	s.from = b.next
	return true
}

// parts takes a record of a block file apart whose checksum holds.
func parts(r []byte) (m stored, ok bool) {
	subjectEnd := recordHead + int(binary.LittleEndian.Uint16(r[20:]))
	body := len(r) - recordSum
	if binary.LittleEndian.Uint32(r)&headersBit == 0 || subjectEnd+4 > body {
		return m, false
	}
	headers := subjectEnd + 4
	data := headers + int(binary.LittleEndian.Uint32(r[subjectEnd:]))
	if data > body || data < headers || !bytes.HasSuffix(r[headers:data], []byte("\r\n\r\n")) {
		return m, false
	}
	return stored{
		seq: binary.LittleEndian.Uint64(r[4:]), at: time.Unix(0, int64(binary.LittleEndian.Uint64(r[12:]))),
		subject: publicSubject(string(r[recordHead:subjectEnd]), aboutIn(r[headers:data])), headers: r[headers:data:data], data: r[data:body:body],
	}, true
}

// stored returns the message as it would stand in a block file.
func (m Message) stored() stored {
	h := []byte("NATS/1.0\r\n")
	for _, f := range m.Header {
		h = append(append(append(append(h, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	return stored{seq: m.Seq, at: m.At, subject: m.Subject, headers: append(h, "\r\n"...), data: m.Data}
}

// backward looks for the last message of a subject: forward within a block, and block by block from the end of the log.
type backward struct {
	blocks []uint32 // those before the stretch that is gone over
	begins uint64   // the first sequence of that stretch
	search search
	found  *stored
}

func (l *Log) newBackward(filter string) (*backward, error) {
	last, _ := l.visible()
	all, err := l.blocks.list()
	return &backward{blocks: all, begins: last + 1, search: search{filter: filter, from: last + 1, to: last}}, err
}

// lookBack goes on for one slice. It is done where the message is found, or there is none.
func (l *Log) lookBack(ctx context.Context, b *backward) (done bool, err error) {
	if b.search.from > b.search.to {
		if b.found != nil || b.begins <= l.First() {
			return true, nil
		}
		l.before(b)
	}
	b.search.most, b.search.bytes, b.search.found = pageEvents, historySlice, nil
	if err := l.search(ctx, &b.search); err != nil {
		return true, err
	}
	if n := len(b.search.found); n > 0 {
		m := b.search.found[n-1]
		m.headers, m.data = bytes.Clone(m.headers), bytes.Clone(m.data)
		b.found = &m
	}
	return false, nil
}

// before takes the stretch before the one that was gone over: a block, or all that is left where blocks are not as expected.
func (l *Log) before(b *backward) {
	b.search.to = b.begins - 1
	first := l.First()
	for len(b.blocks) > 0 && b.begins > b.search.to {
		n := b.blocks[len(b.blocks)-1]
		b.blocks = b.blocks[:len(b.blocks)-1]
		if start, err := l.blocks.begin(n); err == nil {
			b.begins = max(start.seq, first)
		}
	}
	if b.begins > b.search.to {
		b.begins = first
	}
	b.search.from, b.search.at = b.begins, cursor{}
}
