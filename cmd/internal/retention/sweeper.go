package retention

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ledge/cmd/internal/loop"
	"ledge/cmd/internal/node"
)

// sweepEvery is the time between two sweeps.
const sweepEvery = 10 * time.Second

// sweeper keeps all limits of notifications and readings: one sweep each 10 seconds, whose steps follow one another. A step that fails is
// tried again by the next sweep, and does not keep the others from their work.
type sweeper struct {
	logger          *slog.Logger
	notes, readings stream
	wanted          atomic.Pointer[Options] // the limits, from the next sweep on
	rules           atomic.Pointer[rules]

	sweeping sync.Mutex
	steps    []step
	limits   *Options // that the steps keep
}

// step is one limit, or a part of the work that follows from all of them.
type step struct {
	setting string // or stream: names it in the log of the server
	keep    func(context.Context) error
}

func newSweeper(d *node.Node, o Options, values *collector) *sweeper {
	s := &sweeper{
		logger: d.Logger, notes: stream{Part: &d.Notifications, node: d}, readings: stream{Part: &d.Readings, node: d, values: values},
	}
	s.wanted.Store(&o)
	s.rules.Store(newRules(o.Rules, s.readings))
	return s
}

// takeLimits makes the steps of the limits that are wanted now. The caller holds the lock.
func (s *sweeper) takeLimits() {
	o := s.wanted.Load()
	if s.limits == o {
		return
	}
	rules := s.rules.Load()
	if rules.rules.String() != o.Rules.String() {
		rules = newRules(o.Rules, s.readings)
		s.rules.Store(rules)
	}
	s.limits, s.steps = o, nil
	add := func(setting string, wanted bool, keep func(context.Context) error) {
		if wanted {
			s.steps = append(s.steps, step{setting, keep})
		}
	}
	add("notifications", true, s.notes.forget)
	add("readings", true, s.readings.forget)
	add("notifications-max-age", o.NotificationsMaxAge > 0, notificationAge{s.notes, o.NotificationsMaxAge}.keep)
	add("notifications-max-bytes", o.NotificationsMaxBytes > 0, maxBytes{s.notes, o.NotificationsMaxBytes}.keep)
	add("readings-max-age", o.ReadingsMaxAge > 0, maxAge{s.readings, o.ReadingsMaxAge}.keep)
	add("readings-max-bytes", o.ReadingsMaxBytes > 0, maxBytes{s.readings, o.ReadingsMaxBytes}.keep)
	add("readings-retention", len(o.Rules) > 0, rules.keep)
	add("readings", true, unneeded{stream: s.readings}.keep)
}

// run sweeps until ctx ends.
func (s *sweeper) run(ctx context.Context) error {
	return loop.Every(ctx, sweepEvery, s.sweep)
}

// sweep removes all that is over a limit now.
func (s *sweeper) sweep(ctx context.Context) {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	s.takeLimits()
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
