package tap

import (
	"time"

	"golang.org/x/time/rate"
)

// pace slows down a client that says more than it needs to: the server would spend its time on that.
type pace struct{ limiter *rate.Limiter }

// What a client may say in a second, and at once, in bytes. A tap subscribes and answers pings; the others ask for history.
const (
	tapRate     = 8 << 10
	historyRate = 1 << 20
	paceBurst   = 4 * time.Second
)

func newPace(c class) *pace {
	most := historyRate
	if c == ofTaps {
		most = tapRate
	}
	return &pace{rate.NewLimiter(rate.Limit(most), most*int(paceBurst/time.Second))}
}

// wait returns when n bytes more are within the rate, or when the client is gone.
func (p *pace) wait(n int, gone <-chan struct{}) {
	now := time.Now()
	var ahead time.Duration
	for n > 0 { // the limiter takes no more at a time than its burst
		part := min(n, p.limiter.Burst())
		ahead = p.limiter.ReserveN(now, part).DelayFrom(now)
		n -= part
	}
	pause(ahead, gone)
}

// pause returns after d, or when end is closed.
func pause(d time.Duration, end <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-end:
	}
}
