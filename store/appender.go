package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"ledge/domain"
)

// Projection is the state that an Appender decides on and hands what is recorded to.
//
// A Projection that has a method Health() error is asked before each group: while that is an error, requests are refused
// with domain.Unavailable. Its tables may panic with an error of that code, see domain.Try.
type Projection interface {
	// State returns the state at the checkpoint, for deciding, and a function that lets go of it.
	State() (domain.State, func())
	// Apply folds the recorded events and moves the checkpoint: all of them or, after an error, none. The first one's Seq
	// is Checkpoint's + 1, or, on a stream with a retention, the first that is kept.
	Apply([]domain.Recorded) error
	// Checkpoint is the last sequence applied and its chain; 0 and zeros for none.
	Checkpoint() (seq uint64, chain [32]byte)
}

// AppenderOptions bounds what an Appender holds in memory.
type AppenderOptions struct {
	// QueueRequests and QueueBytes are the most that may wait to be recorded; beyond, Submit blocks. The defaults are
	// 20,000 and 64 MiB.
	QueueRequests, QueueBytes int
	// SubmitBytes is the most that the requests of one Submit may write to the log; those after are refused with
	// domain.TooLarge, without being decided. 0 is without a bound. A change of a few bytes of a large profile counts as much
	// as the profile, which has to be looked at for it.
	SubmitBytes int
	// CatchUpEvents is how many events one Apply gets while catching up at the start; the default is 5,000.
	CatchUpEvents int
	// CatchingUp is told after each Apply how many events of all that were missing at the start are applied; nil: nothing is.
	CatchingUp func(done, total uint64)
	// RecentEvents and RecentBytes are what is kept in memory for followers; the defaults are 2,048 and 2 MiB.
	RecentEvents, RecentBytes int
}

func (o AppenderOptions) withDefaults() AppenderOptions {
	o.QueueRequests = cmp.Or(o.QueueRequests, 20_000)
	o.QueueBytes = cmp.Or(o.QueueBytes, 64<<20)
	o.CatchUpEvents = cmp.Or(o.CatchUpEvents, 5_000)
	o.RecentEvents = cmp.Or(o.RecentEvents, 2_048)
	o.RecentBytes = cmp.Or(o.RecentBytes, 2<<20)
	return o
}

// Appender is the one way into a log. One goroutine takes all commands that wait, decides each on the state plus the
// changes of those before it, appends the events as a group, has them applied, and answers.
type Appender struct {
	log        *Log
	projection Projection
	o          AppenderOptions
	queue      *queue
	recent     *recent
	live       *live

	done    sync.WaitGroup
	cancel  context.CancelFunc
	stopped context.Context
}

// NewAppender checks the projection's checkpoint against the log, applies what the log has beyond it, and starts. A log
// that is shorter than the checkpoint, or that has another event there, is a [Damage] that names both. ctx bounds the
// start only.
func NewAppender(ctx context.Context, l *Log, p Projection, o AppenderOptions) (*Appender, error) {
	o = o.withDefaults()
	a := &Appender{log: l, projection: p, o: o}
	if err := l.err(); err != nil {
		return nil, err
	}
	if err := a.catchUp(ctx); err != nil {
		return nil, err
	}
	l.show()
	last, _ := l.Last()
	a.queue = newQueue(o.QueueRequests, o.QueueBytes)
	a.recent = newRecent(last, o.RecentEvents, o.RecentBytes)
	a.live = newLive(l, last == 0)
	a.stopped, a.cancel = context.WithCancel(context.Background())
	a.done.Go(a.run)
	a.done.Go(a.live.run)
	return a, nil
}

// catchUp brings the projection to the end of the log.
func (a *Appender) catchUp(ctx context.Context) error {
	l := a.log
	seq, chain := a.projection.Checkpoint()
	if err := l.holds(ctx, seq, chain); err != nil {
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

// holds reports whether the log has the event with this chain hash at seq.
func (l *Log) holds(ctx context.Context, seq uint64, chain Chain) error {
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

// Submit has the requests decided and recorded in order and returns one outcome for each. They need not share a group,
// and nothing of others is between two that do. An error means that none was taken: too much waits and ctx ended
// (domain.Unavailable), or the appender is closed or broken. Requests whose group had not started when ctx ended have
// domain.Unavailable as their outcome; once it started, they have the truth.
func (a *Appender) Submit(ctx context.Context, requests ...domain.Request) ([]domain.Outcome, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	if err := a.log.err(); err != nil {
		return nil, refused(err)
	}
	s := &submission{ctx: ctx, requests: requests, outcomes: make([]domain.Outcome, len(requests)), done: make(chan struct{})}
	for _, r := range requests {
		s.bytes += requestOverhead + r.Bytes
	}
	if err := a.queue.put(ctx, s); err != nil {
		return nil, err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		if a.queue.withdraw(s) {
			return nil, gone(ctx)
		}
		<-s.done
	}
	return s.outcomes, nil
}

func gone(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return domain.Errorf(domain.Unavailable, "not recorded: too much waits to be recorded before it; try again later")
	}
	return domain.Errorf(domain.Unavailable, "not recorded: the request was given up while it waited")
}

// refused is how a caller sees that a log is broken.
func refused(err error) *domain.Error {
	return domain.Errorf(domain.Unavailable, "nothing can be recorded: %v", err)
}

// Close records and answers the waiting requests, then stops. Followers end.
func (a *Appender) Close() error {
	a.queue.close(domain.Errorf(domain.Unavailable, "ledge is stopping"))
	a.cancel()
	a.done.Wait()
	return nil
}

func (a *Appender) run() {
	defer a.recent.close()
	defer a.live.close()
	for {
		select {
		case <-a.queue.filled:
		case <-a.stopped.Done():
			if a.queue.length() == 0 {
				return
			}
		}
		a.group(a.queue.take(groupEvents))
	}
}
