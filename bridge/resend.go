package bridge

import (
	"cmp"
	"time"

	"ledge/domain"
)

// Resend is how often a transmission that failed is sent again, and how long after the first try, where its subscription says neither. The
// time doubles from try to try.
type Resend struct {
	Limit    int
	Interval time.Duration
}

// What EdgeX 2.3 takes for the one of resendLimit and resendInterval that a subscription leaves out.
const (
	edgexLimit    = 2
	edgexInterval = 5 * time.Second
)

// of returns what goes for a subscription. Where it has resendLimit or resendInterval, the interval is fixed, as in EdgeX 2.3.
func (r Resend) of(s domain.Subscription) (limit int, interval time.Duration, fixed bool) {
	interval, ok := domain.ParseDuration(s.ResendInterval)
	switch {
	case s.ResendLimit == 0 && !ok:
		return min(r.Limit, domain.MaxTries-1), r.Interval, false
	case !ok:
		interval = edgexInterval
	}
	return min(cmp.Or(s.ResendLimit, edgexLimit), domain.MaxTries-1), interval, true
}
