package bridge

import (
	"context"

	"ledge/domain"
)

// Flush returns when all that was sent before the call is on record, or refused for good, and when the subscriptions are
// those of all requests that were answered before it: both of what devices raised and of what was posted. An Unavailable Error says that this takes longer than ctx.
func (e *Engine) Flush(ctx context.Context) error {
	if err := e.catchUp(ctx, e.Recorded()); err != nil {
		return err
	}
	if err := e.catchUpNotes(ctx); err != nil {
		return err
	}
	e.raised.hurry.Signal()
	e.outcomes.Hurry()
	for _, wait := range []func(context.Context) error{e.posting.Wait, e.outcomes.Flush, e.raised.tally.Wait} {
		if err := wait(ctx); err != nil {
			return domain.Errorf(domain.Unavailable, "what was sent a moment ago is not on record yet; try again")
		}
	}
	return nil
}
