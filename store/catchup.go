package store

import (
	"context"
	"fmt"
	"iter"
	"time"

	"ledge/domain"
)

// catchUp brings the projection to the end of the log.
func (a *Appender) catchUp(ctx context.Context) error {
	l := a.log
	seq, chain := a.projection.Checkpoint()
	if err := a.checkCheckpoint(ctx, seq, chain); err != nil {
		return err
	}
	last, _ := l.Last()
	if seq == last {
		return nil
	}
	started := time.Now()
	for b := range a.batches(ctx, seq+1, last) {
		if n := len(b.events); n > 0 {
			if err := a.projection.Apply(b.events); err != nil {
				return fmt.Errorf("apply %s %d to %d: %w", l.name, b.events[0].Seq, b.events[n-1].Seq, err)
			}
			if a.o.CatchingUp != nil {
				a.o.CatchingUp(b.events[n-1].Seq-seq, last-seq)
			}
		}
		if b.err != nil {
			return fmt.Errorf("catch up from %d: %w", seq, b.err)
		}
	}
	if at, _ := a.projection.Checkpoint(); at != last && l.First() <= last {
		return fmt.Errorf("%s: the projection is at %d after catching up to %d", l.name, at, last)
	}
	l.store.o.Logger.Info("projection caught up", "stream", l.name, "from", seq, "to", last, "took", time.Since(started))
	return nil
}

// catchUpPages is of how many pages of the log one Apply gets events at most while catching up: where they are large,
// these are fewer than CatchUpEvents.
const catchUpPages = 8

// batches returns the events from one sequence to another in slices of CatchUpEvents, or of catchUpPages. The next one is
// read while one is applied.
func (a *Appender) batches(ctx context.Context, from, to uint64) iter.Seq[decoded] {
	return func(yield func(decoded) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		out := make(chan decoded)
		go func() {
			defer close(out)
			b := decoded{events: make([]domain.Recorded, 0, min(uint64(a.o.CatchUpEvents), to-from+1))}
			pages := 0
			send := func() bool {
				select {
				case out <- b:
				case <-ctx.Done():
				}
				b, pages = decoded{events: make([]domain.Recorded, 0, cap(b.events))}, 0
				return ctx.Err() == nil
			}
			for events, err := range a.log.groups(ctx, from, to) {
				for len(events) > 0 {
					n := min(len(events), cap(b.events)-len(b.events))
					b.events, events = append(b.events, events[:n]...), events[n:]
					if len(b.events) == cap(b.events) && !send() {
						return
					}
				}
				pages++
				if b.err = err; (err != nil || pages == catchUpPages) && !send() {
					return
				}
			}
			if len(b.events) > 0 {
				send()
			}
		}()
		for b := range out {
			if !yield(b) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(decoded{err: err})
		}
	}
}

// checkCheckpoint checks that the log has the event of the projection's checkpoint. Of a log without events, the checkpoint may be the only record
// of its end, and is believed.
func (a *Appender) checkCheckpoint(ctx context.Context, seq uint64, chain Chain) error {
	l := a.log
	last, head := l.Last()
	switch {
	case seq == 0:
		return nil
	case seq > last:
		return l.damage(last+1, "the log ends at %d, but the projection's checkpoint is at %d", last, seq)
	case seq == last && head == (Chain{}): // nothing is kept any more, and nobody else remembers the end
		l.setLast(last, chain)
		return nil
	}
	first, base, known := l.begins()
	switch {
	case seq >= first:
	case known && seq == first-1:
		if base != chain {
			return l.damage(seq, "its chain hash is %x, but the projection's checkpoint at %d has %x: log and projection are not of the same past", base, seq, chain)
		}
		return nil
	case l.archives == nil:
		return nil // the event is gone for reasons of age; what is kept links among itself
	}
	for m, err := range l.ReadRaw(ctx, seq, seq) {
		if err != nil {
			return err
		}
		if got, _ := chainIn(m.Header); got != chain {
			return l.damage(seq, "its chain hash is %x, but the projection's checkpoint at %d has %x: log and projection are not of the same past", got, seq, chain)
		}
	}
	return nil
}
