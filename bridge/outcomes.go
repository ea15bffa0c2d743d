package bridge

import (
	"errors"
	"fmt"
	"time"

	"ledge/domain"
)

// recordOutcomes records what deliver hands over, all that waits at a time.
func (e *Engine) recordOutcomes() error {
	for {
		select {
		case <-e.ctx.Done():
			return nil
		case r := <-e.outcomes:
			if _, err := e.record(e.company(r)); err != nil {
				return fmt.Errorf("record transmissions: %w", err)
			}
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

// record submits reqs to the notification stream until each has an outcome; what the log refuses for now is tried
// again, with back-off, until Close.
func (e *Engine) record(reqs []domain.Request) ([]domain.Outcome, error) {
	outcomes := make([]domain.Outcome, len(reqs))
	open := make([]int, len(reqs))
	for i := range reqs {
		open[i] = i
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		var err error
		if open, err = e.tryRecord(reqs, outcomes, open); len(open) == 0 {
			return outcomes, nil
		}
		if !forNow(err) {
			return nil, err
		}
		e.Logger.Warn("notification stream refuses, trying again", "waiting", len(open), "after", wait, "error", err)
		select {
		case <-e.ctx.Done():
			return nil, e.ctx.Err()
		case <-time.After(wait):
		}
	}
}

// tryRecord submits the requests at the indexes in open; it returns those that are still open, and why.
func (e *Engine) tryRecord(reqs []domain.Request, outcomes []domain.Outcome, open []int) ([]int, error) {
	batch := make([]domain.Request, len(open))
	for i, at := range open {
		batch[i] = reqs[at]
	}
	got, err := e.Notifications.Submit(e.ctx, batch...)
	if err != nil {
		return open, err
	}
	var left []int
	var errs []error
	for i, o := range got {
		outcomes[open[i]] = o
		if o.Err != nil {
			left, errs = append(left, open[i]), append(errs, o.Err)
		}
	}
	return left, errors.Join(errs...)
}

// forNow reports whether every error is one that passes.
func forNow(err error) bool {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range list.Unwrap() {
			if !forNow(one) {
				return false
			}
		}
		return true
	}
	code := domain.CodeOf(err)
	return code == domain.Full || code == domain.Unavailable
}
