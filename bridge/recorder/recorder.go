package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"ledge/domain"
)

// Linger is how long a record may wait for company, unless somebody waits for it: see [Hurry]. What a crash would not repeat may wait for
// LongLinger where more than Few come in a Linger: the fsync that is spared is worth more than the record's being there.
const (
	Linger     = 10 * time.Millisecond
	LongLinger = 10 * Linger
	Few        = 16
)

// Hurry ends the wait for company, because somebody waits for the record.
type Hurry chan struct{}

// NewHurry returns a Hurry that has not begun.
func NewHurry() Hurry { return make(Hurry, 1) }

// Signal has what was added before the call recorded at once.
func (h Hurry) Signal() {
	select {
	case h <- struct{}{}:
	default:
	}
}

// Waiting and WaitingBytes bound the requests that wait to be recorded; at the bound, who adds one waits. One that is larger than
// WaitingBytes waits alone. SubmitBytes is about how much is handed to the log at once.
const (
	Waiting      = 4096
	WaitingBytes = 4 << 20
	SubmitBytes  = 2 << 20
)

// Log is where to record.
type Log interface {
	Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error)
}

// Recorder records requests whose outcome nobody waits for.
type Recorder struct {
	log        Log
	logger     *slog.Logger
	unrecorded func(domain.Request)
	waiting    chan waiting
	hurry      Hurry
	room       *semaphore.Weighted // bytes of those that wait
	tally      Tally               // of requests
	refused    atomic.Int64

	mu   sync.Mutex
	left []waiting // what Close records
}

// waiting is a request with its estimated size.
type waiting struct {
	domain.Request
	bytes int64 // of the room
	ends  int   // 1 where the tally ends with it; 0 where it is a part, and others follow
}

// New returns a Recorder that waits for Run, which calls unrecorded for each request that no event is made of: there was
// nothing left to record, or it was refused for good.
func New(log Log, logger *slog.Logger, unrecorded func(domain.Request)) *Recorder {
	return &Recorder{
		log: log, logger: logger, unrecorded: unrecorded,
		waiting: make(chan waiting, Waiting), hurry: NewHurry(), room: semaphore.NewWeighted(WaitingBytes),
	}
}

// Refused is how many requests were refused for good since the start. What could be recorded in smaller parts counts only where one of
// these was refused.
func (r *Recorder) Refused() int64 { return r.refused.Load() }

// usualBytes is what a request takes beside what it says of itself.
const usualBytes = 1 << 10

func weighed(req domain.Request) waiting {
	w := waiting{req, usualBytes, 1}
	if b, ok := req.Command.(interface{ Bytes() int }); ok {
		w.bytes += int64(b.Bytes())
	}
	w.bytes = min(w.bytes, WaitingBytes)
	return w
}

// Add hands a request over to Run, or, when ctx has ended, to Close.
func (r *Recorder) Add(ctx context.Context, req domain.Request) {
	r.tally.Begin()
	w := weighed(req)
	if !r.room.TryAcquire(w.bytes) && r.room.Acquire(ctx, w.bytes) != nil {
		w.bytes = 0
		r.leave(w)
		return
	}
	select {
	case r.waiting <- w:
		return
	default:
	}
	select {
	case r.waiting <- w:
	case <-ctx.Done():
		r.leave(w)
	}
}

// Hurry has what was added before the call recorded at once.
func (r *Recorder) Hurry() { r.hurry.Signal() }

// leave keeps what is to be recorded by Close.
func (r *Recorder) leave(list ...waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, list...)
}

// Run records what is added, until ctx ends; an error says that the log takes nothing any more.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case first := <-r.waiting:
			if err := r.record(ctx, Company(ctx, r.waiting, first, r.hurry, func() bool { return true })); err != nil {
				return fmt.Errorf("record transmissions: %w", err)
			}
		}
	}
}

// Company waits for more to record with the first, as many as waiting holds: for [Linger], and on, up to [LongLinger],
// while more than [Few] wait and less than half of what has room, and none of it is urgent. It ends with hurry and with ctx. Nobody
// else receives from waiting.
func Company[T any](ctx context.Context, waiting <-chan T, first T, hurry Hurry, urgent func() bool) []T {
	tick := time.NewTicker(Linger)
	defer tick.Stop()
	for waited, on := Linger, true; on; waited += Linger {
		select {
		case <-tick.C:
			on = waited < LongLinger && len(waiting) > Few && len(waiting) < cap(waiting)/2 && !urgent()
		case <-hurry:
			on = false
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

// Flush returns when all that was added before the call is on record, or refused for good; the error is that of ctx.
func (r *Recorder) Flush(ctx context.Context) error { return r.tally.Wait(ctx) }

// Close records what is left after Run and after the last Add. What cannot be recorded is done again at the next start.
func (r *Recorder) Close(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for more := true; more; {
		select {
		case w := <-r.waiting:
			r.left = append(r.left, w)
		default:
			more = false
		}
	}
	for len(r.left) > 0 {
		batch := r.left[:together(r.left)]
		if _, err := r.log.Submit(ctx, requests(batch)...); err != nil {
			r.logger.Warn("outcomes not recorded, delivered again at the next start", "count", len(r.left), "error", err)
			break
		}
		r.left = r.left[len(batch):]
	}
	r.left = nil
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
