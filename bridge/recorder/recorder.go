// Package recorder puts on record what became of deliveries: in batches, because each append costs an fsync that the requests of that
// moment feel, and until the log takes it.
package recorder

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"ledge/bridge/outward"
	"ledge/domain"
)

// CommitDelay is how long a record waits for others to share an fsync with, unless somebody waits for it: see [Hurry].
const CommitDelay = 10 * time.Millisecond

// Hurry ends the commit delay, because somebody waits for the record. Its capacity is 1.
type Hurry chan struct{}

// Signal has what was added before the call recorded at once.
func (h Hurry) Signal() {
	select {
	case h <- struct{}{}:
	default:
	}
}

// Waiting and WaitingBytes bound the requests that wait to be recorded. At the bound, Add waits. A request that is larger than WaitingBytes
// waits alone. SubmitBytes is about how much is handed to the log at once.
const (
	Waiting      = 4096
	WaitingBytes = 4 << 20
	SubmitBytes  = 2 << 20
)

// Log is where to record.
type Log interface {
	Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error)
}

// Stream is a log that can be followed too.
type Stream interface {
	Log
	Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error
}

// Recorder records requests whose outcome nobody waits for.
type Recorder struct {
	log        Log
	logger     *slog.Logger
	unrecorded func(domain.Request)
	waiting    chan waiting
	hurry      Hurry
	budget     *semaphore.Weighted // bytes of waiting outcomes
	tally      Tally               // of requests
	refused    atomic.Int64

	mu   sync.Mutex
	left []waiting // what Close records
}

// waiting is a request with its estimated size.
type waiting struct {
	domain.Request
	bytes int64 // of the budget
	ends  int   // 1 if the tally ends with it; 0 if it is a part, and others follow
}

// requestBytes is what a request takes beside what it says of itself.
const requestBytes = 1 << 10

// New returns a Recorder that waits for Run, which calls unrecorded for each request that no event is made of: there was
// nothing left to record, or it was refused for good.
func New(log Log, logger *slog.Logger, unrecorded func(domain.Request)) *Recorder {
	return &Recorder{
		log: log, logger: logger, unrecorded: unrecorded,
		waiting: make(chan waiting, Waiting), hurry: make(Hurry, 1), budget: semaphore.NewWeighted(WaitingBytes),
	}
}

// Refused is how many requests were refused for good since the start. A request that could be recorded in smaller parts counts only if one
// of these was refused.
func (r *Recorder) Refused() int64 { return r.refused.Load() }

// Add hands a request over to Run, or, when ctx has ended, to Close.
func (r *Recorder) Add(ctx context.Context, req domain.Request) {
	r.tally.Begin()
	w := waiting{req, min(requestBytes+int64(req.Bytes), WaitingBytes), 1}
	if Send(ctx, r.waiting, r.budget, w, w.bytes) != nil {
		w.bytes = 0
		r.leave(w)
	}
}

// leave keeps what is to be recorded by Close.
func (r *Recorder) leave(list ...waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, list...)
}

// Send waits until the budget has so many bytes and the channel has a place. Its error says that ctx ended before; then it takes nothing.
func Send[T any](ctx context.Context, waiting chan<- T, budget *semaphore.Weighted, one T, bytes int64) error {
	if !budget.TryAcquire(bytes) {
		if err := budget.Acquire(ctx, bytes); err != nil {
			return err
		}
	}
	select {
	case waiting <- one:
		return nil
	default:
	}
	select {
	case waiting <- one:
		return nil
	case <-ctx.Done():
		budget.Release(bytes)
		return ctx.Err()
	}
}

// Hurry has what was added before the call recorded at once.
func (r *Recorder) Hurry() { r.hurry.Signal() }

// Run records what is added, until ctx ends; an error says that the log takes nothing any more.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case first := <-r.waiting:
			if err := r.record(ctx, Batch(ctx, r.waiting, first, r.hurry)); err != nil {
				return fmt.Errorf("record transmissions: %w", err)
			}
		}
	}
}

// Batch returns the first with all that wait after the [CommitDelay], which ends with hurry and with ctx. Nobody else receives from
// waiting.
func Batch[T any](ctx context.Context, waiting <-chan T, first T, hurry Hurry) []T {
	delay := time.NewTimer(CommitDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-hurry:
	case <-ctx.Done():
	}
	all := append(make([]T, 0, 1+len(waiting)), first)
	for len(all) < cap(all) {
		all = append(all, <-waiting)
	}
	return all
}

// record submits requests, in order, until each has its outcome, or ctx ends: then they are left to Close.
func (r *Recorder) record(ctx context.Context, list []waiting) error {
	for len(list) > 0 {
		err := Retry(ctx, r.logger, func() error {
			batch := list[:together(list)]
			left, err := r.try(ctx, batch)
			list = append(left, list[len(batch):]...)
			return err
		})
		if err != nil {
			r.leave(list...)
			return err
		}
	}
	return nil
}

// try returns the requests that are to be submitted again, in order, and why, if that is for now: all from the first that was refused on.
// Those after it may be refused because of it.
func (r *Recorder) try(ctx context.Context, list []waiting) (left []waiting, err error) {
	outcomes, err := r.log.Submit(ctx, requests(list)...)
	if err != nil {
		return list, err
	}
	for i, o := range outcomes {
		switch {
		case o.Err == nil:
			if o.Event == nil {
				r.unrecorded(list[i].Request)
			}
			r.ended(list[i])
		case len(left) > 0:
			left = append(left, list[i])
		case ForNow(o.Err):
			left, err = append(left, list[i]), o.Err
		default:
			left = append(left, r.smaller(list[i], o.Err)...)
		}
	}
	return left, err
}

func (r *Recorder) ended(w waiting) {
	r.budget.Release(w.bytes)
	r.tally.End(w.ends)
}

// smaller returns what is recorded in place of a request that is refused for good: parts of a notification's transmissions, or nothing. A
// subscription that is left out is logged by its name: a command may be very long.
func (r *Recorder) smaller(w waiting, why error) (parts []waiting) {
	c, _ := w.Command.(domain.ProcessNotification)
	try, _ := w.Command.(domain.RecordTry)
	for _, part := range c.Smaller() {
		one := domain.Request{Stamp: w.Stamp, Command: part, Bytes: part.Bytes()}
		one.EventID = uuid.Must(uuid.NewV7()).String()
		parts = append(parts, waiting{Request: one})
	}
	if len(parts) < 2 {
		r.refused.Add(1)
		named := ""
		if len(parts) == 1 && len(c.Matched) == 1 {
			named = c.Matched[0]
		}
		r.logger.Error("outcome not recorded", "command", fmt.Sprintf("%T", w.Command), "id", cmp.Or(c.ID, try.ID), "subscription", named,
			"error", outward.Cut(why.Error()))
	}
	if len(parts) == 0 {
		r.unrecorded(w.Request)
		r.ended(w)
		return nil
	}
	last := &parts[len(parts)-1]
	last.bytes, last.ends = w.bytes, w.ends
	return parts
}

// Flush returns when all that was added before the call is on record, or refused for good; the error is that of ctx.
func (r *Recorder) Flush(ctx context.Context) error { return r.tally.Wait(ctx) }

// Close records what is left after Run and after the last Add. What cannot be recorded is done again at the next start.
func (r *Recorder) Close(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 {
		r.left = append(r.left, <-r.waiting)
	}
	for len(r.left) > 0 {
		batch := r.left[:together(r.left)]
		if _, err := r.log.Submit(ctx, requests(batch)...); err != nil {
			r.logger.Warn("outcomes not recorded, delivered again at the next start", "count", len(r.left), "error", err)
			return
		}
		r.left = r.left[len(batch):]
	}
}

// together returns how many of a list the log is handed at once.
func together(list []waiting) (n int) {
	for bytes := int64(0); n < len(list) && bytes < SubmitBytes; n++ {
		bytes += list[n].bytes
	}
	return n
}

func requests(list []waiting) []domain.Request {
	reqs := make([]domain.Request, len(list))
	for i, w := range list {
		reqs[i] = w.Request
	}
	return reqs
}

// The waits between two tries while the log refuses: a full disk, a restart in place.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// ForNow reports whether the log may take later what it refuses.
func ForNow(err error) bool {
	code := domain.CodeOf(err)
	return code == domain.Full || code == domain.Unavailable
}

// Retry calls f, with back-off, until its error is not [ForNow], and returns that error. If ctx ends before, it returns the error of ctx.
func Retry(ctx context.Context, logger *slog.Logger, f func() error) error {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := f()
		if !ForNow(err) {
			return err
		}
		logger.Warn("stream refuses, trying again", "after", wait, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
