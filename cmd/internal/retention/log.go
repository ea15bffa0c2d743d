package retention

import (
	"context"
	"log/slog"
	"time"

	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// logStart is the beginning of a log from which retention removes.
type logStart struct {
	state  *projections.DB
	stream *store.Log
	logger *slog.Logger
	keep   time.Duration // of answers, see handlers.IdempotencyKeep
	now    func() time.Time
}

// drop gives the disk back what the log's front takes, as far as nothing of it is needed: nothing that is in the state, no
// cleanup that goes on, nothing younger than young, and, where requests with an Idempotency-Key may be sent again, nothing
// younger than the time for which their answers are kept. It returns where the log began before, where it begins now, and
// the first sequence that had to stay. What fails is logged.
func (f logStart) drop(ctx context.Context, young time.Duration) (before, first, needed uint64) {
	before = f.stream.First()
	needed, err := f.needed(ctx, young)
	if err != nil || needed <= before {
		f.warn(ctx, err)
		return before, before, needed
	}
	first, err = f.stream.DropBefore(ctx, needed)
	f.warn(ctx, err)
	if first != before {
		f.logger.Info("the front of the log is gone: all of it was removed", "stream", f.stream.Name(), "from", before, "to", first-1)
	}
	return before, first, needed
}

func (f logStart) warn(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		f.logger.Warn("the front of the log stays for now", "stream", f.stream.Name(), "error", err)
	}
}

// needed is the first sequence that must stay.
func (f logStart) needed(ctx context.Context, young time.Duration) (uint64, error) {
	oldest, answers, err := f.held()
	if err != nil {
		return 0, err
	}
	if answers {
		young = max(young, f.keep)
	}
	if young == 0 {
		return oldest, nil
	}
	since, err := f.stream.OlderThan(ctx, f.now().Add(-young))
	return min(oldest, since), err
}

// held is the first sequence of which something is still in the state, and whether answers are kept.
func (f logStart) held() (oldest uint64, answers bool, err error) {
	err = node.Try(func() error {
		v, done := f.state.View()
		defer done()
		oldest, err = v.Oldest()
		return err
	})
	if err != nil {
		return 0, false, err
	}
	err = node.Try(func() error {
		s, done := f.state.State()
		defer done()
		answers = domain.LastAnswerUntil(s) > f.now().UnixMilli()
		return nil
	})
	return oldest, answers, err
}
