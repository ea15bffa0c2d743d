package retention

import (
	"context"
	"errors"
	"time"

	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/handlers"
	"ledge/projections"
)

// stream is a log from which sweeps remove, with its state.
type stream struct {
	*node.Part
	node   *node.Node
	values *collector // of payloads; nil for notifications, which have none
}

// forget takes out of the state what has left the log by its front.
func (s stream) forget(ctx context.Context) error {
	rows, err := s.State.Forget(ctx, s.Log.First())
	if rows > 0 && s.values != nil {
		wake(s.values.removed)
	}
	return err
}

// dropBefore drops the block files before a sequence, with what is folded from them. It reports whether there were any.
func (s stream) dropBefore(ctx context.Context, seq uint64) (dropped bool, err error) {
	before := s.Log.First()
	first, err := s.Log.DropBefore(ctx, seq)
	if first != before {
		s.node.Logger.Info("the front of the log is gone", "stream", s.Log.Name(), "from", before, "to", first-1)
	}
	return first != before, errors.Join(err, s.forget(ctx))
}

// remove removes, in parts that each are one event on the log, data events that pick chooses. It looks at those that are recorded from a
// sequence on, in their order, until pick says that there are no more. next is the sequence of the first event that it left.
func (s stream) remove(
	ctx context.Context, why string, from uint64, pick func(projections.RecordedEvent) (goes, more bool),
) (gone tally, next uint64, err error) {
	next = from
	for more := true; more && ctx.Err() == nil; {
		var removals []domain.Removal
		var part tally
		at := next
		err = s.Read(func(v *projections.View) error {
			list, err := v.RecordedFrom(at)
			more = len(list) > 0
			for _, e := range list {
				var goes bool
				if goes, more = pick(e); goes {
					removals = append(removals, domain.Removal{ID: e.ID, Revision: e.Seq})
					part.add(1, e.Size)
				}
				if !more {
					break
				}
				at = e.Seq + 1
			}
			return err
		})
		if err == nil && len(removals) > 0 {
			_, err = s.Submit(ctx, domain.CleanUp{Rule: why, DataEvents: removals})
		}
		if err != nil {
			return gone, next, err
		}
		next = at
		gone.add(part.count, part.bytes)
	}
	return gone, next, ctx.Err()
}

// unneeded is a part of the limits: it removes the oldest block files that nothing needs any more.
type unneeded struct {
	stream
	young time.Duration // what is younger stays
}

// keep drops the block files before the first sequence that is needed: by the state, by a cleanup that goes on, by what is too young, and
// while requests with an Idempotency-Key may be sent again, by the time for which their answers are kept.
func (u unneeded) keep(ctx context.Context) error {
	needed, err := u.needed(ctx)
	if err != nil || needed <= u.Log.First() {
		return err
	}
	_, err = u.dropBefore(ctx, needed)
	return err
}

func (u unneeded) needed(ctx context.Context) (oldest uint64, err error) {
	err = u.Read(func(v *projections.View) (err error) { oldest, err = v.Oldest(); return err })
	if err != nil {
		return 0, err
	}
	young := u.young
	err = node.Try(func() error {
		state, done := u.State.State()
		defer done()
		if domain.LastAnswerUntil(state) > u.node.Now().UnixMilli() {
			young = max(young, handlers.IdempotencyKeep)
		}
		return nil
	})
	if err != nil || young == 0 {
		return oldest, err
	}
	since, err := u.Log.OlderThan(ctx, u.node.Now().Add(-young))
	return min(oldest, since), err
}
