package delivery

import (
	"math/rand/v2"
	"time"
)

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
