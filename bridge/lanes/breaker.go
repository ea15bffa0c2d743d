package lanes

import (
	"math/rand/v2"
	"time"
)

// BackOff is first, doubled so many times, at most longest, and a fifth more or less, so that what failed together does not come back
// together.
func BackOff(first time.Duration, doubled int, longest time.Duration) time.Duration {
	wait := first
	for ; doubled > 0 && wait < longest; doubled-- {
		wait *= 2
	}
	wait = min(wait, longest)
	return wait - wait/5 + rand.N(2*wait/5+1)
}

// firstPause is the first pause after a failure; each further one is twice as long, up to Options.LongestPause.
const firstPause = 100 * time.Millisecond

// A server pauses after so many failures in a row, and at once if nothing has succeeded for [firstPause]. A target pauses after so many
// answers with errors in a row, of which the first came so long ago.
const (
	steadyFailures = 3
	steadyErrors   = 8
	steadyTime     = time.Second
)

// breaker decides when something that fails pauses. During a pause one probe at a time is sent; a success ends it.
type breaker struct {
	fails     int       // in a row
	since     time.Time // of the first of them
	succeeded time.Time // the last time
	reason    string    // the last error

	pause   time.Duration // the present one; 0 for none
	until   time.Time     // when a probe may be sent
	probing bool
	probed  time.Time // when the last probe began
	regular bool      // it is the one at the end of the pause
}

func (b *breaker) paused() bool { return b.pause > 0 }

// ok notes a success. It reports whether that ends a pause.
func (b *breaker) ok(now time.Time) (ended bool) {
	ended = b.paused()
	*b = breaker{succeeded: now}
	return ended
}

// broken notes a connection that failed, or no answer in time. It reports whether a pause begins.
func (b *breaker) broken(now time.Time, reason string, longest time.Duration) (begins bool) {
	b.failed(now, reason)
	return (b.fails >= steadyFailures || now.Sub(b.succeeded) >= firstPause) && b.begin(now, firstPause, longest)
}

// refused notes an answer with an error, whose receiver wants to be left alone for some time, or for 0. It reports whether a pause begins.
func (b *breaker) refused(now time.Time, reason string, after, longest time.Duration) (begins bool) {
	b.failed(now, reason)
	return (after > 0 || b.fails >= steadyErrors && now.Sub(b.since) >= steadyTime) && b.begin(now, max(firstPause, after), longest)
}

func (b *breaker) failed(now time.Time, reason string) {
	if b.fails++; b.fails == 1 {
		b.since = now
	}
	b.reason = reason
}

// begin begins a pause, unless there is one. It reports whether it does.
func (b *breaker) begin(now time.Time, pause, longest time.Duration) bool {
	if b.paused() {
		return false
	}
	b.pause = min(pause, longest)
	b.until = now.Add(b.pause)
	return true
}

// endWait ends the wait for the next probe. The pause itself ends when the probe succeeds.
func (b *breaker) endWait(now time.Time) {
	if b.paused() && now.Before(b.until) {
		b.until = now
	}
}

// probe notes that a probe begins, after the end of the pause or before it.
func (b *breaker) probe(now time.Time) {
	b.probing, b.probed, b.regular = true, now, !now.Before(b.until)
}

// unanswered notes that the probe, if this breaker sent one, has not ended the pause. The next pause is twice as long.
func (b *breaker) unanswered(now time.Time, longest time.Duration) {
	if b.probing && b.regular && b.paused() {
		b.pause = min(2*b.pause, longest)
		b.until = now.Add(b.pause)
	}
	b.probing = false
}
