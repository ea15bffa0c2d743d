package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ledge/domain"
)

// Linger is how long a record may wait for company: nobody waits for one. What a crash would not repeat may wait for
// LongLinger where more than Few come in a Linger: the fsync that is spared is worth more than the record's being there.
const (
	Linger     = 10 * time.Millisecond
	LongLinger = 10 * Linger
	Few        = 16
)

// Waiting bounds the requests that wait to be recorded; at the bound, who adds one waits.
const Waiting = 4096

// Log is where to record.
type Log interface {
	Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error)
}

// Recorder records requests whose outcome nobody waits for.
type Recorder struct {
	log        Log
	logger     *slog.Logger
	unrecorded func(domain.Request)
	waiting    chan domain.Request
	tally      Tally // of requests

	mu   sync.Mutex
	left []domain.Request // what Close records
}

// New returns a Recorder that waits for Run, which calls unrecorded for each request that no event is made of: there was
// nothing left to record, or it was refused for good.
func New(log Log, logger *slog.Logger, unrecorded func(domain.Request)) *Recorder {
	return &Recorder{log: log, logger: logger, unrecorded: unrecorded, waiting: make(chan domain.Request, Waiting)}
}

// Add hands a request over to Run, or, when ctx has ended, to Close.
func (r *Recorder) Add(ctx context.Context, req domain.Request) {
	r.tally.Begin()
	select {
	case r.waiting <- req:
		return
	default:
	}
	select {
	case r.waiting <- req:
	case <-ctx.Done():
		r.leave(req)
	}
}

// leave keeps what is to be recorded by Close.
func (r *Recorder) leave(reqs ...domain.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, reqs...)
}

// Run records first and then what is added, until ctx ends; an error says that the log takes nothing any more.
func (r *Recorder) Run(ctx context.Context, first []domain.Request) error {
	r.tally.begin(len(first))
	for reqs := first; ; {
		if err := r.record(ctx, reqs); err != nil {
			return fmt.Errorf("record transmissions: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case req := <-r.waiting:
			reqs = Company(ctx, r.waiting, req, func() bool { return true })
		}
	}
}

// Company waits for more to record with the first, as many as waiting holds: for [Linger], and on, up to [LongLinger],
// while more than [Few] wait and less than half of what has room, and none of it is urgent. It ends with ctx. Nobody
// else receives from waiting.
func Company[T any](ctx context.Context, waiting <-chan T, first T, urgent func() bool) []T {
	tick := time.NewTicker(Linger)
	defer tick.Stop()
	for waited, on := Linger, true; on; waited += Linger {
		select {
		case <-tick.C:
			on = waited < LongLinger && len(waiting) > Few && len(waiting) < cap(waiting)/2 && !urgent()
		case <-ctx.Done():
			on = false
		}
	}
	all := append(make([]T, 0, 1+len(waiting)), first)
	for len(all) < cap(all) {
		all = append(all, <-waiting)
	}
	return all
}

// Settled returns when all that was added before the call is on record, or refused for good; the error is that of ctx.
func (r *Recorder) Settled(ctx context.Context) error { return r.tally.Wait(ctx) }

// Close records what is left after Run and after the last Add. What cannot be recorded is done again at the next start.
func (r *Recorder) Close(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for more := true; more; {
		select {
		case req := <-r.waiting:
			r.left = append(r.left, req)
		default:
			more = false
		}
	}
	if len(r.left) == 0 {
		return
	}
	if _, err := r.log.Submit(ctx, r.left...); err != nil {
		r.logger.Warn("outcomes not recorded, delivered again at the next start", "count", len(r.left), "error", err)
	}
	r.left = nil
}

// record submits requests until each is recorded; what the log refuses for now is tried again, with back-off, until ctx
// ends, and then left to Close. What is refused for good is logged.
func (r *Recorder) record(ctx context.Context, reqs []domain.Request) error {
	for wait := FirstRetry; len(reqs) > 0; wait = min(2*wait, LastRetry) {
		left, err := r.try(ctx, reqs)
		r.tally.End(len(reqs) - len(left))
		if reqs = left; len(reqs) == 0 {
			return nil
		}
		if ForNow(err) {
			err = Pause(ctx, r.logger, wait, len(reqs), err)
		}
		if err != nil {
			r.leave(reqs...)
			return err
		}
	}
	return nil
}

// try returns the requests that the log refuses for now, and why the first of them.
func (r *Recorder) try(ctx context.Context, reqs []domain.Request) (left []domain.Request, err error) {
	outcomes, err := r.log.Submit(ctx, reqs...)
	if err != nil {
		return reqs, err
	}
	for i, o := range outcomes {
		switch {
		case o.Err == nil && o.Event != nil:
		case o.Err == nil:
			r.unrecorded(reqs[i])
		case ForNow(o.Err):
			left = append(left, reqs[i])
			if err == nil {
				err = o.Err
			}
		default:
			r.logger.Error("outcome refused", "command", reqs[i].Command, "error", o.Err)
			r.unrecorded(reqs[i])
		}
	}
	return left, err
}
