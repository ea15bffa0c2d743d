package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

const (
	pageEvents = 1024
	pageBytes  = 4 << 20
	// fewEvents are decoded before another goroutine could have begun.
	fewEvents = 64
	// readWait is how long the server may take for a page of the log.
	readWait = 20 * time.Second
)

// Message is an event as the stream stores it.
type Message struct {
	Seq uint64
	// At is when the server stored it.
	At      time.Time
	Subject string
	Header  Header
	Data    []byte
}

// page is some messages in a row, or the error that ends the reading.
type page struct {
	messages []Message
	err      error
}

// ReadRaw returns the stored messages from one sequence to another, both included, in order and without a hole. From 0
// is the first on the log itself, to 0 the last durable. What was moved to archives is read from there, and ends with a
// [Gap] where an archive is missing. The chain of the log is not verified; see [Log.Read].
func (l *Log) ReadRaw(ctx context.Context, from, to uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		for p := range l.pages(ctx, from, to) {
			for _, m := range p.messages {
				if !yield(m, nil) {
					return
				}
			}
			if p.err != nil {
				yield(Message{}, p.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Message{}, err)
		}
	}
}

// pages fetches in a goroutine of its own, ahead of the reader, until ctx ends: from the block files, and what they do
// not give by direct gets in batches, with which there is no consumer to make, to leave behind, or to stall on damage.
func (l *Log) pages(ctx context.Context, from, to uint64) <-chan page {
	out := make(chan page, 2)
	if last, _ := l.Last(); to == 0 || to > last {
		to = last
	}
	go func() {
		defer close(out)
		send := func(p page) bool {
			select {
			case out <- p:
				return true
			case <-ctx.Done():
				return false
			}
		}
		for p := (page{}); p.err == nil && ctx.Err() == nil; {
			if from, p.err = l.archived(ctx, from, to, send); p.err == nil {
				from, p.err = l.live(ctx, from, to, send)
			}
			if errors.Is(p.err, errMoved) {
				p.err = nil // the rest is archived meanwhile
				continue
			}
			if p.err != nil && !errors.Is(p.err, context.Canceled) {
				send(p)
			}
			return
		}
	}()
	return out
}

// errMoved says that events were moved to an archive while they were read.
var errMoved = errors.New("the start of the log moved")

// archived sends the pages that are archived, and returns the first sequence that is on the log itself.
func (l *Log) archived(ctx context.Context, from, to uint64, send func(page) bool) (next uint64, err error) {
	first, err := l.askFirst(ctx)
	if err != nil {
		return from, fmt.Errorf("read %s: %w", l.name, err)
	}
	if from == 0 || from >= first || l.archives == nil {
		return max(from, first), nil
	}
	end := min(to, first-1)
	return end + 1, l.archives.read(ctx, from, end, l.skipGap, send)
}

// live sends the pages from the block files, and from the server what these do not give. It is errMoved where an event has
// left the log for an archive, and returns where to go on.
func (l *Log) live(ctx context.Context, from, to uint64, send func(page) bool) (next uint64, err error) {
	if l.readsFiles() && from <= to {
		b := l.blockReader(from, to)
		err := b.read(ctx, send)
		if a, ok := errors.AsType[altered](err); ok {
			return b.next, l.damage(a.seq, "%v", a)
		}
		from = b.next
	}
	if from > to {
		return from, nil
	}
	if l.store.offline {
		return from, l.damage(from, "it is missing or cannot be read")
	}
	f, err := l.newFetch()
	if err != nil {
		return from, err
	}
	defer f.close()
	for from <= to {
		if l.forever && from < l.First() {
			return from, errMoved
		}
		p := f.page(ctx, from, to)
		if n := len(p.messages); l.forever && from < l.First() && (n == 0 || p.messages[0].Seq != from) {
			return from, errMoved
		}
		if len(p.messages) == 0 && p.err == nil {
			return from, nil // retention removed all that was asked for
		}
		if !send(p) || p.err != nil {
			return from, context.Canceled
		}
		from = p.messages[len(p.messages)-1].Seq + 1
	}
	return from, nil
}

// readsFiles reports whether the log is read from its block files, and not through a tap.
func (l *Log) readsFiles() bool {
	return l.blocks != nil
}

// blockReader returns what reads the messages from one sequence to another, both included.
func (l *Log) blockReader(from, to uint64) *blockReader {
	return &blockReader{blocks: &blocks{dir: l.blocks.dir, stream: l.name}, next: from, to: to, chunk: readChunk}
}
