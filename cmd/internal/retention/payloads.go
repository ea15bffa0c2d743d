package retention

import (
	"context"
	"log/slog"

	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
	"ledge/store/payloads"
)

// collector removes the payloads that no reading refers to: at the start, when readings were removed, and after posts that
// were refused when their bodies were there already.
type collector struct {
	values   *node.Part
	payloads *payloads.Files
	logger   *slog.Logger
	removed  chan struct{} // readings were
}

func newCollector(d *node.Node, files *payloads.Files) *collector {
	return &collector{values: &d.Readings, payloads: files, logger: d.Logger, removed: make(chan struct{}, 1)}
}

// run collects until ctx ends. What fails is tried again with the next one that is to be removed, or at the next start.
func (c *collector) run(ctx context.Context) error {
	failed := make(chan error, 1)
	from := c.values.Recorded() + 1
	go func() { failed <- c.values.Appender.Follow(ctx, from, c.wakeIfRemoved) }()
	for {
		n, err := c.payloads.Collect(ctx, c.used)
		if n > 0 {
			c.logger.Info("removed payloads that no reading refers to", "count", n)
		}
		if err != nil && ctx.Err() == nil {
			c.logger.Warn("payloads that no reading refers to are still there", "error", err)
		}
		select {
		case err := <-failed:
			return err
		case <-c.removed:
		case <-c.payloads.Unused():
		}
	}
}

// wakeIfRemoved wakes run if readings are removed.
func (c *collector) wakeIfRemoved(group []domain.Recorded) error {
	for _, r := range group {
		if _, ok := r.Event.(domain.DataEventsRemoved); ok {
			wake(c.removed)
		}
	}
	return nil
}

// collect removes them now, and returns the use of those that stay.
func (c *collector) collect(ctx context.Context) (payloads.Use, error) {
	if _, err := c.payloads.Collect(ctx, c.used); err != nil {
		return payloads.Use{}, err
	}
	return c.payloads.Recount()
}

// used reports whether a reading refers to a payload.
func (c *collector) used(digest string) (used bool, err error) {
	err = c.values.Read(func(v *projections.View) error {
		_, n, err := node.FindNewest(v, digest)
		used = n > 0
		return err
	})
	return used, err
}
