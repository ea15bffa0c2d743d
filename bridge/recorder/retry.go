package recorder

import (
	"context"
	"log/slog"
	"time"

	"ledge/domain"
)

// The waits between two tries to record while the log refuses: a full disk, a restart in place.
const (
	FirstRetry = 50 * time.Millisecond
	LastRetry  = 5 * time.Second
)

// ForNow reports whether the log may take later what it refuses.
func ForNow(err error) bool {
	code := domain.CodeOf(err)
	return code == domain.Full || code == domain.Unavailable
}

// Pause waits before the next try; its error says that ctx has ended.
func Pause(ctx context.Context, logger *slog.Logger, wait time.Duration, waiting int, why error) error {
	logger.Warn("stream refuses, trying again", "waiting", waiting, "after", wait, "error", why)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
