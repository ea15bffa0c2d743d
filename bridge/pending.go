package bridge

import "ledge/domain"

// pendingAtOnce is how many pending notifications are loaded at a time.
const pendingAtOnce = 1000

// deliverPending delivers what has no outcome since before the start.
func (e *Engine) deliverPending() error {
	for {
		list, err := e.Pending(pendingAtOnce)
		if err != nil || len(list) == 0 {
			return err
		}
		reqs := make([]domain.Request, 0, len(list))
		for _, n := range list {
			e.deliver(e.again(n))
			reqs = append(reqs, <-e.outcomes)
		}
		if _, err := e.record(reqs); err != nil {
			return err
		}
	}
}

// again addresses a notification that is on record: to the subscriptions that matched its cause, or, for one that was
// posted, to those that match now.
func (e *Engine) again(n domain.Notification) delivery {
	if n.Cause == 0 {
		return e.route(n, "")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	d := delivery{notification: n}
	e.target(&d)
	return d
}
