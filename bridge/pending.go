package bridge

import "ledge/domain"

// deliverPosted delivers the posted ones among what a crash left without an outcome, to the subscriptions of now.
func (e *Engine) deliverPosted(pending []domain.Notification) (outcomes []domain.Request) {
	for _, n := range pending {
		if n.Cause == 0 {
			outcomes = append(outcomes, e.deliver(e.route(n, "")))
		}
	}
	return outcomes
}

// deliverRaised delivers those that device changes raised, to the subscriptions that matched their cause, with the
// channels that those had at the last cause: routes are rewound to it.
func (e *Engine) deliverRaised(pending []domain.Notification) (outcomes []domain.Request) {
	for _, n := range pending {
		if n.Cause > 0 {
			outcomes = append(outcomes, e.deliver(e.again(n)))
		}
	}
	return outcomes
}

// again addresses a notification that is on record with the subscriptions that it matched.
func (e *Engine) again(n domain.Notification) delivery {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := delivery{notification: n}
	e.target(&d)
	return d
}
