package retention

import (
	"context"
	"log/slog"

	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/payloads"
)

// collector removes the payloads that no reading refers to: at the start, when readings were removed, and after posts that
// were refused when their bodies were there already.
type collector struct {
	values   *projections.DB
	log      *store.Appender
	payloads *payloads.Files
	logger   *slog.Logger
	removed  chan struct{} // readings were
}

func newCollector(d *node.Node, files *payloads.Files) *collector {
	return &collector{values: d.Readings.State, log: d.Readings.Appender, payloads: files, logger: d.Logger, removed: d.Forgotten}
}

// run collects until ctx ends. What fails is tried again with the next one that is to be removed, or at the next start.
func (c *collector) run(ctx context.Context) error {
	from, _ := c.values.Checkpoint()
	failed := make(chan error, 1)
	go func() { failed <- c.log.Follow(ctx, from+1, c.notice) }()
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

// notice wakes run if readings are removed.
func (c *collector) notice(group []domain.Recorded) error {
	for _, r := range group {
		if _, ok := r.Event.(domain.DataEventsRemoved); ok {
			node.Wake(c.removed)
		}
	}
	return nil
}

// used reports whether a reading refers to a payload.
func (c *collector) used(digest string) (bool, error) {
	v, done := c.values.View()
	defer done()
	_, n, err := node.FindNewest(v, digest)
	return n > 0, err
}
