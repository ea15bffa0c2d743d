package store

import (
	"context"
	"time"
)

// Since returns the first sequence whose event was stored at a time or later; where there is none, the one after the last.
// It looks at few events, as a search does, and rests on the clock having gone forward.
func (l *Log) Since(ctx context.Context, t time.Time) (uint64, error) {
	from := max(l.First(), 1)
	last, _ := l.Last()
	to := last + 1
	from, to = l.around(t, from, to)
	for from < to {
		middle := from + (to-from)/2
		m, err := l.one(ctx, middle)
		if err != nil {
			return 0, err
		}
		if m.Seq < middle || m.At.Before(t) { // or retention has removed it meanwhile
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from, nil
}

// around narrows the sequences from one to another, among which the first of a time is looked for, to those of one block
// file: for each message that is looked at, half of its block is read.
func (l *Log) around(t time.Time, from, to uint64) (uint64, uint64) {
	for _, s := range l.manifest.segments() {
		if !s.At.Before(t) {
			return from, min(to, s.Last)
		}
		from = max(from, s.Last+1)
	}
	return min(from, to), to
}

// one reads one message; where retention has removed it, it returns none.
func (l *Log) one(ctx context.Context, seq uint64) (found Message, err error) {
	for m, err := range l.ReadRaw(ctx, seq, seq) {
		return m, err
	}
	return found, ctx.Err()
}
