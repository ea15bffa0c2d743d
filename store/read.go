package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"
)

const (
	pageEvents = 1024
	pageBytes  = 4 << 20
	// fewEvents are decoded before another goroutine could have begun.
	fewEvents = 64
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

// pages reads in a goroutine of its own, ahead of the reader, until ctx ends.
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
	first := l.First()
	if from == 0 || from >= first || l.archives == nil {
		return max(from, first), nil
	}
	end := min(to, first-1)
	return end + 1, l.archives.read(ctx, from, end, l.skipGap, send)
}

// live sends the pages from the block files, and returns where to go on. Events that retention removes meanwhile are left out; the error is
// errMoved if they are moved to an archive meanwhile. The start of a log moves before its blocks go: what is missing behind it is damage.
func (l *Log) live(ctx context.Context, from, to uint64, send func(page) bool) (next uint64, err error) {
	for from <= to {
		b := l.blockReader(from, to, readChunk)
		failed := b.read(ctx, send)
		if from = b.next; from > to || ctx.Err() != nil || errors.Is(failed, context.Canceled) {
			return from, cmp.Or(failed, ctx.Err())
		}
		first, err := l.askFirst(ctx)
		switch {
		case err != nil:
			return from, fmt.Errorf("read %s at %d: %w", l.name, from, err)
		case from < first && l.forever:
			return from, errMoved
		case from < first:
			from = first
		case errors.Is(failed, fs.ErrNotExist): // a block that was listed is gone: look again
		default:
			return from, l.unread(from, failed)
		}
	}
	return from, nil
}

// unread is the error for an event that a [blockReader] did not read, with the reader's error.
func (l *Log) unread(seq uint64, failed error) error {
	a, isAltered := errors.AsType[altered](failed)
	switch {
	case isAltered:
		return l.damage(a.seq, "%v", a)
	case failed == nil || errors.Is(failed, errRecord):
		return l.damage(seq, "it is missing or cannot be read")
	}
	return fmt.Errorf("%s: %w", l.name, failed)
}
