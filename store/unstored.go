package store

import (
	"context"

	"ledge/domain"
)

// Unstored is a log whose events of some commands reach taps and are not recorded. They have no sequence and no chain hash.
type Unstored struct {
	*Appender
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
		u.live.add([]entry{e})
	}
	return outcomes, nil
}
