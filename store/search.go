package store

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"ledge/store/natsblock"
	"ledge/store/tap"

	"github.com/nats-io/nats-server/v2/server"
)

// tapSource is the logs as the tap server reads them. One goroutine does, so that one scan is enough for all searches.
type tapSource struct {
	store *Store
	logs  []tap.Log
	scan  natsblock.Scan // with the messages that were found last
}

func newTapSource(s *Store) *tapSource {
	t := &tapSource{store: s}
	for _, l := range s.logs {
		t.logs = append(t.logs, &tapLog{l, &t.scan})
	}
	return t
}

// Logs implements tap.Source.
func (t *tapSource) Logs() []tap.Log { return t.logs }

// Info implements tap.Source.
func (t *tapSource) Info() []byte {
	text, _ := json.Marshal(t.store.Info()) // it can be encoded
	return text
}

// LastAppend implements tap.Source.
func (t *tapSource) LastAppend() time.Time {
	if at := t.store.appended.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// tapLog is a log as the tap server reads it.
type tapLog struct {
	*Log
	scan *natsblock.Scan
}

// Prefix implements tap.Log.
func (l *tapLog) Prefix() string { return l.public }

// Visible implements tap.Log.
func (l *tapLog) Visible() uint64 {
	seq, _ := l.visible()
	return seq
}

// search is a search that is going on.
type search struct{ *tap.Search }

// take takes a message in.
func (s search) take(m tap.Message) {
	s.Found = append(s.Found, m)
	s.Most--
	s.Bytes -= len(m.Subject) + len(m.Headers) + len(m.Data)
}

func (s search) full() bool { return s.Most <= 0 || s.Bytes <= 0 }

func (s search) matches(subject string) bool {
	return s.Filter == "" || s.Filter == ">" || s.Filter == subject || server.SubjectMatchesFilter(subject, s.Filter)
}

// Search implements tap.Log. What the files do not give as expected is read as any other part of the log.
func (l *tapLog) Search(ctx context.Context, found *tap.Search) error {
	s := search{found}
	if l.searchFiles(s) {
		return nil
	}
	s.At = tap.Position{}
	for m, err := range l.ReadRaw(ctx, s.From, min(s.To, s.From+pageEvents-1)) {
		if err != nil {
			return err
		}
		s.From = m.Seq + 1
		if s.matches(m.Subject) {
			s.take(m.stored())
		}
		if s.full() {
			return nil
		}
	}
	if len(s.Found) == 0 { // retention has removed them meanwhile
		s.From = max(s.From, min(s.To, s.From+pageEvents-1)+1)
	}
	return ctx.Err()
}

// searchFiles reads a slice of a block file, and reports whether it came forward.
func (l *tapLog) searchFiles(s search) bool {
	if s.At.Block == 0 {
		all, err := l.blocks.List()
		if err != nil || len(all) == 0 {
			return false
		}
		s.At.Block = all[l.holding(all, s.From)]
	}
	from := s.From
	l.searchBlock(s)
	if s.From == from && l.blocks.Has(s.At.Block+1) { // the block has no more
		s.At = tap.Position{Block: s.At.Block + 1}
		l.searchBlock(s)
	}
	return s.From > from
}

// searchBlock reads a slice from the cursor on, up to a record that is not the one that is due.
func (l *tapLog) searchBlock(s search) {
	if cap(l.scan.Text) > 4*tap.SliceBytes { // it had one large message
		*l.scan = natsblock.Scan{}
	}
	l.scan.Files, l.scan.Prefix, l.scan.Chunk, l.scan.OneChunk = l.blocks, l.public, tap.SliceBytes, true
	l.scan.Block, l.scan.Offset, l.scan.Skip = s.At.Block, s.At.Offset, s.From-1
	for r, err := range l.scan.Records() {
		if err != nil || r.IsMessage() && r.Seq() != s.From {
			return
		}
		if s.At.Offset = r.End(); !r.IsMessage() {
			continue
		}
		m, ok := storedOf(r)
		if !ok {
			return
		}
		if s.matches(m.Subject) {
			s.take(m)
		}
		if s.From++; s.full() || s.From > s.To {
			return
		}
	}
}

// storedOf takes a whole record apart.
func storedOf(r natsblock.Record) (m tap.Message, ok bool) {
	subject, headers, data := r.Parts()
	if headers == nil {
		return m, false
	}
	return tap.Message{Seq: r.Seq(), At: r.At(), Subject: publicSubject(string(subject), aboutIn(headers)), Headers: headers, Data: data}, true
}

// stored returns the message as it would stand in a block file.
func (m Message) stored() tap.Message {
	h := []byte("NATS/1.0\r\n")
	for _, f := range m.Header {
		h = append(append(append(append(h, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	return tap.Message{Seq: m.Seq, At: m.At, Subject: m.Subject, Headers: append(h, "\r\n"...), Data: m.Data}
}

// backward looks for the last message of a subject: forward within a block, and block by block from the end of the log.
type backward struct {
	log    *tapLog
	blocks []uint32 // those before the stretch that is gone over
	begins uint64   // the first sequence of that stretch
	search tap.Search
	found  *tap.Message
}

// Backward implements tap.Log.
func (l *tapLog) Backward(filter string) func(context.Context) (*tap.Message, bool, error) {
	last := l.Visible()
	all, err := l.blocks.List()
	b := &backward{log: l, blocks: all, begins: last + 1, search: tap.Search{Filter: filter, From: last + 1, To: last}}
	return func(ctx context.Context) (*tap.Message, bool, error) {
		if err != nil {
			return nil, true, err
		}
		done, err := b.next(ctx)
		return b.found, done, err
	}
}

// next goes on for one slice. It is done if the message is found, or there is none.
func (b *backward) next(ctx context.Context) (done bool, err error) {
	if b.search.From > b.search.To {
		if b.found != nil || b.begins <= b.log.First() {
			return true, nil
		}
		b.before()
	}
	b.search.Most, b.search.Bytes, b.search.Found = pageEvents, tap.SliceBytes, nil
	if err := b.log.Search(ctx, &b.search); err != nil {
		return true, err
	}
	if n := len(b.search.Found); n > 0 {
		m := b.search.Found[n-1]
		m.Headers, m.Data = bytes.Clone(m.Headers), bytes.Clone(m.Data)
		b.found = &m
	}
	return false, nil
}

// before takes the stretch before the one that was gone over: a block, or all that is left if blocks are not as expected.
func (b *backward) before() {
	b.search.To = b.begins - 1
	first := b.log.First()
	for len(b.blocks) > 0 && b.begins > b.search.To {
		n := b.blocks[len(b.blocks)-1]
		b.blocks = b.blocks[:len(b.blocks)-1]
		if start, err := b.log.firstIn(n); err == nil {
			b.begins = max(start, first)
		}
	}
	if b.begins > b.search.To {
		b.begins = first
	}
	b.search.From, b.search.At = b.begins, tap.Position{}
}
