package retention

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ledge/cmd/internal/loop"
	"ledge/cmd/internal/node"
)

// sweepEvery is the time between two sweeps.
const sweepEvery = 10 * time.Second

// sweeper keeps all limits of notifications and readings: one sweep each 10 seconds, whose steps follow one another. A step that fails is
// tried again by the next sweep, and does not keep the others from their work.
type sweeper struct {
	logger   *slog.Logger
	steps    []step
	rules    *rules
	sweeping sync.Mutex
}

// step is one limit, or a part of the work that follows from all of them.
type step struct {
	setting string // or stream: names it in the log of the server
	keep    func(context.Context) error
}

func newSweeper(d *node.Node, o Options, values *collector) *sweeper {
	notes, readings := stream{Part: &d.Notifications, node: d}, stream{Part: &d.Readings, node: d, values: values}
	s := &sweeper{logger: d.Logger, rules: newRules(o.Rules, readings)}
	add := func(setting string, wanted bool, keep func(context.Context) error) {
		if wanted {
			s.steps = append(s.steps, step{setting, keep})
		}
	}
	add("notifications", true, notes.forget)
	add("readings", true, readings.forget)
	add("notifications-max-age", o.NotificationsMaxAge > 0, notificationAge{notes, o.NotificationsMaxAge}.keep)
	add("notifications-max-bytes", o.NotificationsMaxBytes > 0, maxBytes{notes, o.NotificationsMaxBytes}.keep)
	add("readings-max-age", o.ReadingsMaxAge > 0, maxAge{readings, o.ReadingsMaxAge}.keep)
	add("readings-max-bytes", o.ReadingsMaxBytes > 0, maxBytes{readings, o.ReadingsMaxBytes}.keep)
	add("readings-retention", len(o.Rules) > 0, s.rules.keep)
	add("readings", true, unneeded{stream: readings}.keep)
	return s
}

// run sweeps until ctx ends.
func (s *sweeper) run(ctx context.Context) error {
	return loop.Every(ctx, sweepEvery, s.sweep)
}

// sweep removes all that is over a limit now.
func (s *sweeper) sweep(ctx context.Context) {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	for _, one := range s.steps {
		if err := one.keep(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("retention interrupted, tried again by the next sweep", "setting", one.setting, "after", sweepEvery, "error", err)
		}
	}
}

// wake has the reader of c, which has room for one, look again.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will
	}
}
