package retention

import (
	"context"
	"log/slog"
	"time"

	"ledge/bridge/recorder"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
)

// cleaner carries out the cleanups of a stream that clients ask for, in parts that each are one event. What a stop or a
// crash interrupts goes on at the next start: that a cleanup goes on is state like any other.
type cleaner struct {
	*node.Part
	logger *slog.Logger
	asked  chan struct{} // a cleanup was requested
	late   lateComers
}

func newCleaner(d *node.Node, p *node.Part) *cleaner {
	return &cleaner{Part: p, logger: d.Logger, asked: make(chan struct{}, 1)}
}

// run cleans until ctx ends.
func (s *cleaner) run(ctx context.Context) error {
	failed := make(chan error, 1)
	from := s.Recorded() + 1
	go func() { failed <- s.Appender.Follow(ctx, from, s.wakeIfAsked) }()
	for {
		s.cleanAll(ctx)
		select {
		case err := <-failed:
			return err
		case <-s.asked:
		}
	}
}

// wakeIfAsked wakes run if a cleanup is requested.
func (s *cleaner) wakeIfAsked(group []domain.Recorded) error {
	for _, r := range group {
		if _, ok := r.Event.(domain.CleanupRequested); ok {
			wake(s.asked)
		}
	}
	return nil
}

// sweptWithin is how long a request for a cleanup waits for its end. A short one, as clients expect it, ends within some 20 ms.
const sweptWithin = time.Second

// Swept is the [handlers.Options.Swept] of the cleanups of a stream.
func Swept(p *node.Part) func(context.Context, string) {
	return func(ctx context.Context, kind string) {
		ctx, cancel := context.WithTimeout(ctx, sweptWithin)
		defer cancel()
		for going := true; going; {
			at := p.Recorded()
			err := p.Read(func(v *projections.View) error {
				_, going = v.Cleanups.Get(kind)
				return nil
			})
			if err != nil || going && p.State.Wait(ctx, at+1) != nil {
				return
			}
		}
	}
}

// cleanAll carries out the cleanups that go on, one after the other.
func (s *cleaner) cleanAll(ctx context.Context) {
	for kind := ""; ctx.Err() == nil; {
		next, ok, err := s.after(kind)
		if err != nil || !ok {
			s.warn(ctx, "", err)
			return
		}
		kind = next.Kind
		s.clean(ctx, kind)
	}
}

func (s *cleaner) after(kind string) (next domain.Cleanup, ok bool, err error) {
	err = s.Read(func(v *projections.View) (err error) {
		next, ok, err = v.CleanupAfter(kind)
		return err
	})
	return next, ok, err
}

// clean carries out the cleanup of a kind, if one goes on. It waits while the state cannot be read. What else fails is logged, and
// tried again with the next one that is requested, or at the next start.
func (s *cleaner) clean(ctx context.Context, kind string) {
	removed := 0
	for idle := 0; idle < mostIdle; { // a part is for nothing if all of it changes between the look and the removal
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

func (s *cleaner) finish(ctx context.Context, command domain.FinishCleanup, removed int) {
	o, err := s.submit(ctx, command)
	s.warn(ctx, command.Kind, err)
	if o.Seq > 0 {
		s.logger.Info("cleanup finished", "kind", command.Kind, "removed", removed)
	}
}

// mostIdle is how many parts in a row may remove nothing.
const mostIdle = 100

func (s *cleaner) next(ctx context.Context, kind string) (part domain.CleanUp, revision uint64, err error) {
	var late func(revision, upTo uint64) (func(string) bool, error)
	if kind == domain.CleanupAll || kind == domain.CleanupProcessed {
		late = func(revision, upTo uint64) (func(string) bool, error) {
			return s.late.has, s.late.readTo(ctx, s.Log, kind, revision, upTo)
		}
		if err := s.readAhead(kind, late); err != nil {
			return part, 0, err
		}
	}
	err = s.Read(func(v *projections.View) (err error) {
		part, revision, err = v.CleanUp(kind, late)
		return err
	})
	return part, revision, err
}

// readAhead has most of the late comers read before a view is taken, which holds up what is recorded.
func (s *cleaner) readAhead(kind string, late func(revision, upTo uint64) (func(string) bool, error)) error {
	var revision uint64
	err := s.Read(func(v *projections.View) error {
		revision = domain.Revision(v.Cleanups, kind)
		return nil
	})
	if err == nil {
		_, err = late(revision, s.Recorded())
	}
	return err
}

func (s *cleaner) warn(ctx context.Context, kind string, err error) {
	if err != nil && ctx.Err() == nil {
		s.logger.Warn("cleanup interrupted, goes on with the next one or at the next start", "kind", kind, "error", err)
	}
}

// submit records a command. If the log refuses it for now, it tries again with back-off until ctx ends.
func (s *cleaner) submit(ctx context.Context, command domain.Command) (o domain.Outcome, err error) {
	err = recorder.Retry(ctx, s.logger, func() error {
		o, err = s.Submit(ctx, command)
		return err
	})
	return o, err
}
