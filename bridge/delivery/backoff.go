package delivery

import (
	"math/rand/v2"
	"time"

	"ledge/domain"
)

// between is the time from a failed try to the next one: the interval of the subscription, as in EdgeX 2.3; or one that doubles from try to
// try, and is not shorter than what the receiver asks for.
func (d *Delivery) between(t domain.Transmission, tries int, asked time.Duration) time.Duration {
	interval := time.Duration(t.ResendInterval) * time.Millisecond
	if t.FixedInterval {
		return interval
	}
	return max(backOff(interval, tries-1, d.LongestWait), min(asked, d.LongestWait))
}

// backOff is first, doubled so many times, at most longest, and a fifth more or less, so that what failed together does
// not come back together.
func backOff(first time.Duration, doubled int, longest time.Duration) time.Duration {
	wait := first
	for ; doubled > 0 && wait < longest; doubled-- {
		wait *= 2
	}
	wait = min(wait, longest)
	return wait - wait/5 + rand.N(2*wait/5+1)
}

// most is the longest back-off.
func most(longest time.Duration) time.Duration { return longest + longest/5 }
