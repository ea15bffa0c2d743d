package retention

import (
	"context"
	"log/slog"
	"time"

	"ledge/bridge/recorder"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// sweeper carries out the cleanups of a stream that clients ask for, in parts that each are one event. What a stop or a
// crash interrupts goes on at the next start: that a cleanup goes on is state like any other.
type sweeper struct {
	state  *projections.DB
	log    *store.Appender
	stream *store.Log
	logger *slog.Logger
	now    func() time.Time
	asked  chan struct{} // a cleanup was requested
	late   lateComers
}

func newSweeper(d *node.Node, p *node.Part) *sweeper {
	return &sweeper{state: p.State, log: p.Appender, stream: p.Log, logger: d.Logger, now: d.Now, asked: make(chan struct{}, 1)}
}

// run sweeps until ctx ends.
func (s *sweeper) run(ctx context.Context) error {
	from, _ := s.state.Checkpoint()
	failed := make(chan error, 1)
	go func() { failed <- s.log.Follow(ctx, from+1, s.notice) }()
	for {
		s.sweepAll(ctx)
		select {
		case err := <-failed:
			return err
		case <-s.asked:
		}
	}
}

// notice wakes run if a cleanup is requested.
func (s *sweeper) notice(group []domain.Recorded) error {
	for _, r := range group {
		if _, ok := r.Event.(domain.CleanupRequested); ok {
			node.Wake(s.asked)
		}
	}
	return nil
}

// sweptWithin is how long a request for a cleanup waits for its end. A short one, as clients expect it, ends within some 20 ms.
const sweptWithin = time.Second

// Swept is the [handlers.Options.Swept] of the cleanups that are in a state.
func Swept(state *projections.DB) func(context.Context, string) {
	return func(ctx context.Context, kind string) {
		ctx, cancel := context.WithTimeout(ctx, sweptWithin)
		defer cancel()
		for going := true; going; {
			at, _ := state.Checkpoint()
			err := node.Try(func() error {
				s, done := state.State()
				defer done()
				_, going = s.Cleanups.Get(kind)
				return nil
			})
			if err != nil || going && state.Wait(ctx, at+1) != nil {
				return
			}
		}
	}
}

// sweepAll carries out the cleanups that go on, one after the other.
func (s *sweeper) sweepAll(ctx context.Context) {
	for kind := ""; ctx.Err() == nil; {
		next, ok, err := s.after(kind)
		if err != nil || !ok {
			s.warn(ctx, "", err)
			return
		}
		kind = next.Kind
		s.sweep(ctx, kind)
	}
}

func (s *sweeper) after(kind string) (domain.Cleanup, bool, error) {
	v, done := s.state.View()
	defer done()
	return v.CleanupAfter(kind)
}

// sweep carries out the cleanup of a kind, if one goes on. It waits while the state cannot be read. What else fails is logged, and
// tried again with the next one that is requested, or at the next start.
func (s *sweeper) sweep(ctx context.Context, kind string) {
	removed := 0
	for idle := 0; idle < mostIdle; { // a part is for nothing where all of it changes between the look and the removal
		var part domain.CleanUp
		var revision uint64
		err := recorder.Retry(ctx, s.logger, func() (err error) {
			part, revision, err = s.next(ctx, kind)
			return err
		})
		if err != nil || revision == 0 {
			s.warn(ctx, kind, err)
			return
		}
		if part.Empty() {
			s.finish(ctx, domain.FinishCleanup{Kind: kind, Revision: revision}, removed)
			return
		}
		o, err := s.submit(ctx, part)
		if err != nil {
			s.warn(ctx, kind, err)
			return
		}
		idle++
		if e, ok := o.Event.(interface{ Removed() int }); ok {
			idle, removed = 0, removed+e.Removed()
		}
	}
	s.logger.Error("cleanup gets nowhere", "kind", kind)
}

func (s *sweeper) finish(ctx context.Context, command domain.FinishCleanup, removed int) {
	o, err := s.submit(ctx, command)
	s.warn(ctx, command.Kind, err)
	if o.Seq > 0 {
		s.logger.Info("cleanup finished", "kind", command.Kind, "removed", removed)
	}
}

// mostIdle is how many parts in a row may remove nothing.
const mostIdle = 100

func (s *sweeper) next(ctx context.Context, kind string) (part domain.CleanUp, revision uint64, err error) {
	err = node.Try(func() error {
		var late func(revision, upTo uint64) (func(string) bool, error)
		if kind == domain.CleanupAll || kind == domain.CleanupProcessed {
			late = func(revision, upTo uint64) (func(string) bool, error) {
				return s.late.has, s.late.readTo(ctx, s.stream, kind, revision, upTo)
			}
			if err := s.readAhead(kind, late); err != nil {
				return err
			}
		}
		v, done := s.state.View()
		defer done()
		part, revision, err = v.CleanUp(kind, late)
		return err
	})
	return part, revision, err
}

// readAhead has most of the late comers read before a view is taken, which holds up what is recorded.
func (s *sweeper) readAhead(kind string, late func(revision, upTo uint64) (func(string) bool, error)) error {
	v, done := s.state.View()
	revision := domain.Revision(v.Cleanups, kind)
	done()
	upTo, _ := s.state.Checkpoint()
	_, err := late(revision, upTo)
	return err
}

func (s *sweeper) warn(ctx context.Context, kind string, err error) {
	if err != nil && ctx.Err() == nil {
		s.logger.Warn("cleanup interrupted, goes on with the next one or at the next start", "kind", kind, "error", err)
	}
}

func (s *sweeper) submit(ctx context.Context, command domain.Command) (domain.Outcome, error) {
	return node.Submit(ctx, s.log, s.logger, s.now, command)
}
