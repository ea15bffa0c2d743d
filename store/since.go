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
	for to := last + 1; from < to; {
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

// one reads one message; where retention has removed it, it returns none.
func (l *Log) one(ctx context.Context, seq uint64) (found Message, err error) {
	for m, err := range l.ReadRaw(ctx, seq, seq) {
		return m, err
	}
	return found, ctx.Err()
}
