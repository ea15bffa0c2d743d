package delivery

import "time"

// firstPause is the first pause after a failure; each further one is twice as long, up to Limits.LongestPause.
const firstPause = 100 * time.Millisecond

// A server pauses after so many failures in a row, and at once if nothing has succeeded for [firstPause]. A target pauses after so many
// answers with errors in a row, of which the first came so long ago.
const (
	steadyFailures = 3
	steadyErrors   = 8
	steadyTime     = time.Second
)

// gate decides when something that fails pauses. During a pause one probe at a time is sent; a success ends it.
type gate struct {
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

func (g *gate) paused() bool { return g.pause > 0 }

// ok notes a success. It reports whether that ends a pause.
func (g *gate) ok(now time.Time) (ended bool) {
	ended = g.paused()
	*g = gate{succeeded: now}
	return ended
}

// broken notes a connection that failed, or no answer in time. It reports whether a pause begins.
func (g *gate) broken(now time.Time, reason string, longest time.Duration) (begins bool) {
	g.failed(now, reason)
	if g.paused() || g.fails < steadyFailures && now.Sub(g.succeeded) < firstPause {
		return false
	}
	g.begin(now, firstPause, longest)
	return true
}

// refused notes an answer with an error, whose receiver wants to be left alone for some time, or for 0. It reports whether a pause begins.
func (g *gate) refused(now time.Time, reason string, after, longest time.Duration) (begins bool) {
	g.failed(now, reason)
	if g.paused() || after <= 0 && (g.fails < steadyErrors || now.Sub(g.since) < steadyTime) {
		return false
	}
	g.begin(now, max(firstPause, after), longest)
	return true
}

func (g *gate) failed(now time.Time, reason string) {
	if g.fails++; g.fails == 1 {
		g.since = now
	}
	g.reason = reason
}

func (g *gate) begin(now time.Time, pause, longest time.Duration) {
	g.pause = min(pause, longest)
	g.until = now.Add(g.pause)
}

// over ends the wait for the next probe. The pause itself ends when the probe succeeds.
func (g *gate) over(now time.Time) {
	if g.paused() && now.Before(g.until) {
		g.until = now
	}
}

// probe notes that a probe begins, after the end of the pause or before it.
func (g *gate) probe(now time.Time) {
	g.probing, g.probed, g.regular = true, now, !now.Before(g.until)
}

// unanswered notes that the probe, if this gate sent one, has not ended the pause. The next one is twice as long.
func (g *gate) unanswered(now time.Time, longest time.Duration) {
	if g.probing && g.regular && g.paused() {
		g.begin(now, 2*g.pause, longest)
	}
	g.probing = false
}
