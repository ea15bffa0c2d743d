package node

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/recorder"
	"ledge/domain"
	"ledge/store"
)

// Submit records a command of the program itself. If the log refuses it for now, submit tries again with back-off until ctx ends.
func Submit(
	ctx context.Context, log *store.Appender, logger *slog.Logger, now func() time.Time, command domain.Command,
) (o domain.Outcome, err error) {
	var failed error // of the log itself
	err = recorder.Retry(ctx, logger, func() error {
		stamp := domain.Stamp{EventID: uuid.Must(uuid.NewV7()).String(), At: now(), Actor: "ledge", Origin: "internal"}
		var outcomes []domain.Outcome
		outcomes, failed = log.Submit(ctx, domain.Request{Stamp: stamp, Command: command})
		if o = (domain.Outcome{}); failed == nil {
			o = outcomes[0]
		}
		return o.Err
	})
	return o, cmp.Or(failed, err)
}
