package store

import (
	"bytes"
	"context"
	"time"

	"ledge/store/natsblock"

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

	at    cursor          // of from
	found []stored        // until the next slice
	scan  *natsblock.Scan // whose memory they are in
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
	if s.at.block == 0 {
		all, err := l.blocks.List()
		if err != nil || len(all) == 0 {
			return false
		}
		s.at.block = all[l.holding(all, s.from)]
	}
	from := s.from
	l.searchBlock(s)
	if s.from == from && l.blocks.Has(s.at.block+1) { // the block has no more
		s.at = cursor{block: s.at.block + 1}
		l.searchBlock(s)
	}
	return s.from > from
}

// searchBlock reads a slice from the cursor on, up to a record that is not the one that is due.
func (l *Log) searchBlock(s *search) {
	if cap(s.scan.Text) > 4*historySlice { // it had one large message
		*s.scan = natsblock.Scan{}
	}
	s.scan.Files, s.scan.Prefix, s.scan.Chunk, s.scan.OneChunk = l.blocks, l.public, historySlice, true
	s.scan.Block, s.scan.Offset, s.scan.Skip = s.at.block, s.at.offset, s.from-1
	for r, err := range s.scan.Records() {
		if err != nil || r.IsMessage() && r.Seq() != s.from {
			return
		}
		if s.at.offset = r.End(); !r.IsMessage() {
			continue
		}
		m, ok := storedOf(r)
		if !ok {
			return
		}
		if s.matches(m.subject) {
			s.take(m)
		}
		if s.from++; s.full() || s.from > s.to {
			return
		}
	}
}

// storedOf takes a whole record apart.
func storedOf(r natsblock.Record) (m stored, ok bool) {
	subject, headers, data := r.Parts()
	if headers == nil {
		return m, false
	}
	return stored{seq: r.Seq(), at: r.At(), subject: publicSubject(string(subject), aboutIn(headers)), headers: headers, data: data}, true
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
	all, err := l.blocks.List()
	return &backward{blocks: all, begins: last + 1, search: search{filter: filter, from: last + 1, to: last, scan: &natsblock.Scan{}}}, err
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
		if start, err := l.firstIn(n); err == nil {
			b.begins = max(start, first)
		}
	}
	if b.begins > b.search.to {
		b.begins = first
	}
	b.search.from, b.search.at = b.begins, cursor{}
}
