package zeromq

import (
	"time"

	"golang.org/x/time/rate"
)

// What a subscriber may send: as many frames at once as it takes to subscribe to all its topics, and then so many a second. Each 1 KiB
// of a frame counts as one.
const (
	framesAtOnce    = 1024 // beside those for topics
	framesPerSecond = 1000
	pacePause       = 100 * time.Millisecond // the least, so that a peer is not read frame by frame
)

// pace keeps one peer that never stops sending from taking a processor.
type pace struct{ limiter *rate.Limiter }

func newPace(o Options) *pace {
	return &pace{rate.NewLimiter(framesPerSecond, o.MaxTopics+framesAtOnce)}
}

// frame counts a frame of n bytes. If the peer has sent too many, it returns after a pause, or when end is closed.
func (p *pace) frame(n int, end <-chan struct{}) {
	now := time.Now()
	ahead := p.limiter.ReserveN(now, min(1+n/1024, p.limiter.Burst())).DelayFrom(now)
	if ahead <= 0 {
		return
	}
	timer := time.NewTimer(max(ahead, pacePause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-end:
	}
}
