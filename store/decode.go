package store

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"ledge/domain"
)

// Read returns the events from one sequence to another, both included, in order. From 0 is the first on the log itself,
// to 0 the last durable. It ends with a [Damage] error at a sequence that is missing, altered, or not linked to the one
// before, and with a [Gap] where an archive is missing. The first event of a stream with a retention is believed.
func (l *Log) Read(ctx context.Context, from, to uint64) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		for group, err := range l.groups(ctx, from, to) {
			for _, r := range group {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(domain.Recorded{}, err)
				return
			}
		}
	}
}

// EventAt returns the event at a sequence; see [Log.RecordedAt].
func (l *Log) EventAt(ctx context.Context, seq uint64) (e domain.Event, ok bool, err error) {
	r, ok, err := l.RecordedAt(ctx, seq)
	return r.Event, ok, err
}

// RecordedAt returns what is recorded at a sequence, verified as by [Log.Read]; ok is false where there is nothing, or nothing any more.
// It goes over the block file up to the event, which takes a millisecond or two. Apart from the event, the memory is bounded by
// two chunks of [oneChunk] bytes.
func (l *Log) RecordedAt(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error) {
	if last, _ := l.Last(); seq == 0 || seq > last || seq < l.First() {
		return r, false, nil
	}
	var found page
	b := l.blockReader(max(seq-1, 1), seq, oneChunk) // the event before it verifies its chain hash
	_ = b.read(ctx, func(p page) bool { found.messages = append(found.messages, p.messages...); return true })
	if d := l.decodePage(&linker{log: l}, found, seq); d.err == nil && len(d.events) == 1 {
		return d.events[0], true, nil
	}
	for r, err := range l.Read(ctx, seq, seq) {
		return r, err == nil, err
	}
	return r, false, ctx.Err()
}

type decoded struct {
	events []domain.Recorded
	err    error
}

// groups is Read in slices: fetching, decoding with hashing, and the reader's own work run beside one another.
func (l *Log) groups(ctx context.Context, from, to uint64) iter.Seq2[[]domain.Recorded, error] {
	return func(yield func([]domain.Recorded, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		out := make(chan decoded, 2)
		go l.decode(ctx, from, to, out)
		for d := range out {
			if len(d.events) > 0 && !yield(d.events, nil) {
				return
			}
			if d.err != nil {
				yield(nil, d.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func (l *Log) decode(ctx context.Context, from, to uint64, out chan<- decoded) {
	defer close(out)
	link, start := l.linkFrom(from)
	for p := range l.pages(ctx, start, to) {
		d := l.decodePage(&link, p, from)
		select {
		case out <- d:
		case <-ctx.Done():
			return
		}
		if d.err != nil {
			return
		}
	}
}

// decodePage verifies the chain from message to message, and decodes the events beside one another. What follows the
// first fault is left out.
func (l *Log) decodePage(link *linker, p page, from uint64) decoded {
	d := decoded{events: make([]domain.Recorded, 0, len(p.messages)), err: p.err}
	var due []Message
	for i, m := range p.messages {
		r, err := link.next(m)
		if err != nil {
			d.err = err
			break
		}
		if m.Seq < from {
			continue
		}
		if due == nil {
			due = p.messages[i:]
		}
		d.events = append(d.events, r)
	}
	n, err := l.events(due[:len(d.events)], d.events)
	if err != nil {
		d.events, d.err = d.events[:n], err
	}
	return d
}

// events decodes messages into as many events, in equal parts on all processors. It returns how many come before the
// first fault, and that fault.
func (l *Log) events(messages []Message, events []domain.Recorded) (n int, err error) {
	parts := min(runtime.GOMAXPROCS(0), 1+len(messages)/fewEvents)
	ends, faults := make([]int, parts), make([]error, parts)
	var all sync.WaitGroup
	for part := range parts {
		i, end := part*len(messages)/parts, (part+1)*len(messages)/parts
		all.Go(func() {
			for ; i < end && faults[part] == nil; i++ {
				if events[i].Event, faults[part] = l.event(messages[i]); faults[part] != nil {
					ends[part] = i
				}
			}
		})
	}
	all.Wait()
	for part, err := range faults {
		if err != nil {
			return ends[part], err
		}
	}
	return len(messages), nil
}
