package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ledge/domain"
)

const (
	// groupEvents and groupBytes bound what is published before its one fsync, and so the bytes in flight.
	groupEvents = 1000
	groupBytes  = 8 << 20
	// ackEvery is after how many events of a group the server is asked for an acknowledgement, and at the last: each costs
	// as much as a tenth of an append, and says no more than that the log goes on.
	ackEvery = 16
	// mostAckWaits is how many times AckTimeout a server that seems healthy may keep silent.
	mostAckWaits = 12
	// requestOverhead is what a waiting request takes in memory beside its Bytes: stamp, outcome and places in lists. An estimate.
	requestOverhead = 512
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
	// Messages says that [Appender.FollowMessages] is used.
	Messages bool
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
	recent     *recent[domain.Recorded]
	messages   *recent[Message] // nil without AppenderOptions.Messages
	done       sync.WaitGroup
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
	a.recent = newRecent(last, o.RecentEvents, o.RecentBytes, func(r *domain.Recorded) uint64 { return r.Seq })
	if o.Messages {
		a.messages = newRecent(last, recentMessages, recentMessageBytes, func(m *Message) uint64 { return m.Seq })
	}
	a.done.Go(a.run)
	return a, nil
}

// Close records and answers the waiting requests, then stops. Followers end.
func (a *Appender) Close() error {
	a.queue.close(domain.Errorf(domain.Unavailable, "ledge is stopping"))
	a.done.Wait()
	return nil
}

// Queued returns the number of submissions that wait to be recorded.
func (a *Appender) Queued() int { return a.queue.length() }

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
	if err := a.queue.put(s); err != nil {
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

// refused is the error of a request to a log that is broken.
func refused(err error) *domain.Error {
	return domain.Errorf(domain.Unavailable, "nothing can be recorded: %v", err)
}

func (a *Appender) run() {
	defer a.recent.close()
	defer a.messages.close()
	for {
		select {
		case <-a.queue.filled:
		case <-a.queue.closed.Done():
			if a.queue.length() == 0 {
				return
			}
		}
		for items := a.queue.take(groupEvents); len(items) > 0; {
			items = items[a.step(items):]
		}
	}
}

// step takes as many of the items as one group may hold through: decide, append, apply, answer, hand over to followers. It returns how many.
func (a *Appender) step(items []item) int {
	err := a.log.err()
	if h, ok := a.projection.(interface{ Health() error }); ok && err == nil {
		err = h.Health() // it is healed, or the program ends: nothing is decided meanwhile
	}
	if err != nil {
		for _, it := range items {
			it.of.outcomes[it.n] = domain.Outcome{Err: refused(err)}
		}
		answer(items)
		return len(items)
	}
	began := time.Now()
	g := a.log.writer.begin(len(items))
	n := a.decide(items, g)
	recorded, err := a.record(items[:n], g)
	answer(items[:n]) // first: an answer is awaited
	if len(recorded) == 0 {
		return n
	}
	if o := a.log.store.observer.Load(); o != nil {
		(*o).Appended(a.log.name, len(recorded), g.bytes(), time.Since(began))
	}
	a.recent.add(recorded, g.bytes())
	switch end := recorded[len(recorded)-1].Seq; {
	case a.messages == nil:
	case err == nil:
		a.messages.add(a.log.messagesOf(g.run), g.bytes())
	default: // the group failed: the log has the recorded part of it
		a.messages.skip(end)
	}
	return n
}

// answer wakes each caller whose last request has its outcome.
func answer(items []item) {
	for _, it := range items {
		if it.of.answered++; it.of.answered == len(it.of.requests) {
			close(it.of.done)
		}
	}
}

// decide decides each request on the state plus the events of those before it, until the group is full, and sends what
// they make. It returns the number of requests that are decided; their outcomes are as if the group were recorded.
func (a *Appender) decide(items []item, g *group) (n int) {
	base, release := a.projection.State()
	defer release()
	var folding uint64
	state := domain.OverlayAt(base, &folding)
	seq, chain := a.log.Last()
	free := a.log.store.room()
	bytes := 0
	for _, it := range items {
		if bytes >= groupBytes {
			break
		}
		n++
		out := &it.of.outcomes[it.n]
		if it.of.ctx.Err() != nil {
			out.Err = gone(it.of.ctx)
			continue
		}
		if err := a.spent(it.of); err != nil {
			out.Err = err
			continue
		}
		e, err := a.entry(it.of.requests[it.n], state, seq+1, chain)
		if err == nil && e.Event != nil {
			folding = e.Seq
			if int64(bytes+e.size)*2 > free-a.log.store.o.reserveOf(a.log.stream, e.Event) {
				err = a.full("less than the reserve would be left")
			} else if err = a.evolve(&e.Recorded, state); err != nil {
				out.Err = err
				return n
			}
		}
		if err != nil {
			out.Err = err
			continue
		}
		if e.Event == nil {
			continue
		}
		*out = domain.Outcome{Seq: e.Seq, Event: e.Event}
		g.send(e)
		it.of.written += e.effort
		seq, chain, bytes = e.Seq, e.Chain, bytes+e.size
	}
	return n
}

// spent refuses what comes after the bytes that one submission may write, or have looked at.
func (a *Appender) spent(s *submission) error {
	if a.o.SubmitBytes == 0 || s.written < a.o.SubmitBytes {
		return nil
	}
	return domain.Errorf(domain.TooLarge, "the changes before this one take %d bytes in whole entities, and those of one request may take %d; send the rest in another request", s.written, a.o.SubmitBytes)
}

// full is the refusal when the disk's reserve is reached.
func (a *Appender) full(what string) *domain.Error {
	a.log.writer.refusals.Add(1)
	return a.log.store.o.full(a.log.stream, what)
}

// entry decides one request. A panic is the fault of one command and must not end the process.
func (a *Appender) entry(r domain.Request, state domain.State, seq uint64, prev Chain) (e entry, err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = domain.CannotAnswer(p); err != nil {
				e, err = entry{}, refused(err)
				return
			}
			a.log.store.o.Logger.Error("command panicked", "command", fmt.Sprintf("%T", r.Command), "panic", p)
			e, err = entry{}, domain.Errorf(domain.Internal, "%T: internal error", r.Command)
		}
	}()
	event, err := domain.Decide(state, r)
	if err != nil || event == nil {
		return entry{}, err
	}
	return a.log.entry(r.Stamp, event, seq, prev)
}

// evolve adds an event's changes to the pending ones. After a panic those are not to be trusted, so the run ends there.
func (a *Appender) evolve(r *domain.Recorded, state domain.State) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = domain.CannotAnswer(p); err != nil {
				err = refused(err)
				return
			}
			a.log.store.o.Logger.Error("event panicked", "event", fmt.Sprintf("%T", r.Event), "panic", p)
			err = domain.Errorf(domain.Internal, "%T: internal error", r.Event)
		}
	}()
	domain.Evolve(state, r)
	return nil
}

// record ends the group and has it applied, and returns what of it is. The outcomes of what is not are corrected.
func (a *Appender) record(items []item, g *group) ([]domain.Recorded, error) {
	recorded, err := g.end()
	if err != nil {
		a.correct(items, recorded, err)
	}
	if len(recorded) == 0 {
		return nil, err
	}
	if aerr := a.projection.Apply(recorded); aerr != nil {
		a.log.fail(fmt.Errorf("apply %s %d to %d: %w", a.log.name, recorded[0].Seq, recorded[len(recorded)-1].Seq, aerr))
		why := refused(a.log.err())
		why.InDoubt = true
		for _, it := range items {
			it.of.outcomes[it.n] = domain.Outcome{Err: why}
		}
		return nil, aerr
	}
	a.log.show()
	return recorded, err
}

// correct tells the truth after an append that failed: an event of the run is recorded where its id is on the log at
// its sequence. Refusals that may rest on an event that is not recorded are not believed either. Where the log could not be
// read again, it is given up, and what is on it is in doubt until the next start.
func (a *Appender) correct(items []item, recorded []domain.Recorded, err error) {
	held := make(map[string]uint64, len(recorded))
	for _, r := range recorded {
		held[r.EventID] = r.Seq
	}
	why := domain.Errorf(domain.Unavailable, "not recorded: %v", err)
	if free, ferr := a.log.store.FreeBytes(); ferr == nil && free < uint64(a.log.store.o.reserve(a.log.stream)) {
		why = a.full(fmt.Sprintf("%d bytes are free, and this was not recorded: %v", free, err))
	}
	why.InDoubt = a.log.err() != nil // else the log was read again
	lost := false
	for _, it := range items {
		out := &it.of.outcomes[it.n]
		if out.Seq != 0 && held[it.of.requests[it.n].EventID] != out.Seq {
			lost = true
		}
		if lost {
			*out = domain.Outcome{Err: why}
		}
	}
}

// Unstored is a log whose events of some commands are published and not recorded. They have no sequence and no chain hash.
type Unstored struct {
	*Appender
	// Publish is given the message of each event that is not recorded.
	Publish func(Message)
	// Passes reports whether the event of a command is not recorded.
	Passes func(domain.Command) bool
}

// Submit decides each request as Appender.Submit does. The outcome of an event that is not recorded has the sequence 0. An answer to it is
// not remembered under its Idempotency-Key.
func (u Unstored) Submit(ctx context.Context, requests ...domain.Request) ([]domain.Outcome, error) {
	for _, r := range requests {
		if !u.Passes(r.Command) {
			return u.Appender.Submit(ctx, requests...)
		}
	}
	if err := u.log.err(); err != nil {
		return nil, refused(err)
	}
	state, release := u.projection.State()
	defer release()
	outcomes := make([]domain.Outcome, len(requests))
	for i, r := range requests {
		r.Key = nil
		e, err := u.entry(r, state, 0, Chain{})
		if err != nil || e.Event == nil {
			outcomes[i].Err = err
			continue
		}
		e.header.remove(headerChain)
		outcomes[i].Event = e.Event
		u.Publish(u.log.message(&e))
	}
	return outcomes, nil
}
