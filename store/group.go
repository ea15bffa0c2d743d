package store

import (
	"context"
	"fmt"
	"time"

	"ledge/domain"
)

// group takes some requests through: decide, append, apply, answer, show to taps. Bytes may split it into several runs.
func (a *Appender) group(items []item) {
	for len(items) > 0 {
		n := a.step(items)
		items = items[n:]
	}
}

// step takes as many of the items as one run may hold and answers them. It returns how many.
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
	g := a.log.begin(len(items))
	n := a.decide(items, g)
	recorded, err := a.record(items[:n], g)
	answer(items[:n]) // first: an answer is awaited
	a.log.observeGroup(len(recorded), g.bytes(), began)
	if len(recorded) > 0 {
		a.recent.add(recorded, g.bytes())
	}
	if len(recorded) > 0 && err == nil {
		a.live.add(g.run)
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

// full is the refusal where the disk's reserve is reached.
func (a *Appender) full(what string) *domain.Error {
	a.log.refusals.Add(1)
	return a.log.full(what)
}

func (l *Log) full(what string) *domain.Error {
	o := l.store.o
	return domain.Errorf(domain.Full, "the disk is full: %s; the reserve in %s is %d bytes (setting disk-reserve, four times that for readings): free some space or lower it", what, o.Dir, o.reserve(l.stream))
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
	recorded, err := g.end(context.Background())
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
	if free, ferr := a.log.store.free(); ferr == nil && free < uint64(a.log.store.o.reserve(a.log.stream)) {
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
