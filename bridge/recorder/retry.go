package recorder

import (
	"context"
	"log/slog"
	"time"

	"ledge/domain"
)

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
