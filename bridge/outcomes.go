package bridge

import (
	"fmt"
	"time"

	"ledge/domain"
)

// handOver gives an outcome to recordOutcomes, or, at the end, to Close.
func (e *Engine) handOver(r domain.Request) {
	select {
	case e.outcomes <- r:
		return
	default:
	}
	select {
	case e.outcomes <- r:
	case <-e.ctx.Done():
		e.leave(r)
	}
}

// leave keeps what is to be recorded by Close.
func (e *Engine) leave(reqs ...domain.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = append(e.left, reqs...)
}

// recordOutcomes records the outcomes of the start and then what deliver hands over.
func (e *Engine) recordOutcomes(first []domain.Request) error {
	for reqs := first; ; {
		if err := e.record(reqs); err != nil {
			return fmt.Errorf("record transmissions: %w", err)
		}
		select {
		case <-e.ctx.Done():
			return nil
		case r := <-e.outcomes:
			reqs = e.company(r)
		}
	}
}

// company waits a moment for more outcomes to record with the first.
func (e *Engine) company(first domain.Request) []domain.Request {
	reqs := []domain.Request{first}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(reqs) < outcomesWaiting {
		select {
		case r := <-e.outcomes:
			reqs = append(reqs, r)
		case <-timer.C:
			return reqs
		case <-e.ctx.Done():
			return reqs
		}
	}
	return reqs
}

// waitingOutcomes appends what waits now.
func (e *Engine) waitingOutcomes(reqs []domain.Request) []domain.Request {
	for {
		select {
		case r := <-e.outcomes:
			reqs = append(reqs, r)
		default:
			return reqs
		}
	}
}

// The waits between two tries to record while the log refuses: a full disk, a restart in place.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// record submits outcomes until each is recorded; what the log refuses for now is tried again, with back-off, until
// Close, which gets what is left. What is refused for good is logged.
func (e *Engine) record(reqs []domain.Request) error {
	for wait := firstRetry; len(reqs) > 0; wait = min(2*wait, lastRetry) {
		left, err := e.tryRecord(reqs)
		if reqs = left; len(reqs) == 0 {
			return nil
		}
		if !forNow(err) {
			e.leave(reqs...)
			return err
		}
		if err := e.pause(wait, len(reqs), err); err != nil {
			e.leave(reqs...)
			return err
		}
	}
	return nil
}

// tryRecord returns the requests that the log refuses for now, and why the first of them.
func (e *Engine) tryRecord(reqs []domain.Request) (left []domain.Request, err error) {
	outcomes, err := e.Notifications.Submit(e.ctx, reqs...)
	if err != nil {
		return reqs, err
	}
	for i, o := range outcomes {
		switch {
		case o.Err == nil:
		case forNow(o.Err):
			left = append(left, reqs[i])
			if err == nil {
				err = o.Err
			}
		default:
			e.Logger.Error("outcome refused", "command", reqs[i].Command, "error", o.Err)
		}
	}
	return left, err
}

// pause waits before the next try; its error says that the engine ends.
func (e *Engine) pause(wait time.Duration, waiting int, why error) error {
	e.Logger.Warn("notification stream refuses, trying again", "waiting", waiting, "after", wait, "error", why)
	select {
	case <-e.ctx.Done():
		return e.ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// forNow reports whether the log may take later what it refuses.
func forNow(err error) bool {
	code := domain.CodeOf(err)
	return code == domain.Full || code == domain.Unavailable
}
