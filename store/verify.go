package store

import (
	"context"
	"time"

	"ledge/domain"
)

// Report is what [Log.Verify] found of a log that is whole.
type Report struct {
	Stream string
	Count  uint64
	First  uint64
	Last   uint64
	Head   Chain // the chain hash of Last
	// Skipped are events that are as they were written, but that could not be decoded; see [Log.Skipped].
	Skipped []Skipped
}

// Verify reads the whole log, decodes every event and checks that sequences, hashes and subjects are right. The error is
// a [Damage] that names the first sequence that is missing or altered; the log refuses from then on. What is right goes to
// each, if there is one, in order; its error ends Verify.
func (l *Log) Verify(ctx context.Context, each func([]domain.Recorded) error) (Report, error) {
	last, _ := l.Last()
	r := Report{Stream: l.name, Last: last}
	for group, err := range l.groups(ctx, 0, last) {
		if len(group) > 0 {
			if r.First == 0 {
				r.First = group[0].Seq
			}
			r.Count += uint64(len(group))
			r.Head = group[len(group)-1].Chain
			if each != nil && err == nil {
				err = each(group)
			}
		}
		if err != nil {
			if IsDamage(err) {
				l.fail(err)
			}
			return r, err
		}
	}
	if err := l.err(); err != nil {
		return r, err
	}
	r.Skipped = l.Skipped()
	return r, nil
}

// verify holds sequences, hashes and subjects of a part of the log without decoding the events. It returns the end.
func (l *Log) verify(ctx context.Context, from, to uint64) (linker, error) {
	link := l.linkerAt(from)
	for m, err := range l.ReadRaw(ctx, from, to) {
		if err != nil {
			return link, err
		}
		if _, err := link.next(m); err != nil {
			return link, err
		}
		if err := l.filed(m); err != nil {
			return link, err
		}
	}
	if l.forever && to > 0 && link.seq != to {
		return link, l.damage(link.seq+1, "it is missing or cannot be read")
	}
	return link, ctx.Err()
}

// verifyAfter is how long after the start the rest of the logs begins to be verified. The start itself needs the processor and the disk.
const verifyAfter = 2 * time.Second

// verifyRest verifies what [prepare] left out. Damage makes the log refuse.
func (s *Store) verifyRest(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(verifyAfter):
	}
	for _, l := range s.logs {
		if l.verified <= l.First() {
			continue
		}
		_, err := l.verify(ctx, l.First(), l.verified)
		switch {
		case err == nil || ctx.Err() != nil:
		case IsDamage(err):
			l.fail(err)
		default:
			s.o.Logger.Warn("log not verified to its beginning", "stream", l.name, "error", err)
		}
	}
}
