package bridge

import (
	"cmp"
	"time"

	"ledge/domain"
)

// Resend is how often a transmission that failed is sent again, and how long after the first try, where its subscription
// does not say.
type Resend struct {
	Limit    int
	Interval time.Duration
}

// of returns what goes for a subscription.
func (r Resend) of(s domain.Subscription) (limit int, interval time.Duration) {
	limit = min(cmp.Or(s.ResendLimit, r.Limit), domain.MaxTries-1)
	interval, ok := domain.ParseDuration(s.ResendInterval)
	if !ok {
		interval = r.Interval
	}
	return limit, interval
}
