package zeromq

import "time"

// What a subscriber may send: as many frames at once as it takes to subscribe to all its topics, and then so many a second. Each 1 KiB
// of a frame counts as one.
const (
	framesAtOnce    = 1024 // beside those for topics
	framesPerSecond = 1000
	pacePause       = 100 * time.Millisecond
)

// pace keeps one peer that never stops sending from taking a processor.
type pace struct {
	most   int
	left   int
	earned time.Time // when left was last added to
}

func newPace(o Options) *pace {
	n := o.MaxTopics + framesAtOnce
	return &pace{most: n, left: n, earned: time.Now()}
}

// frame counts a frame of n bytes, and pauses where the peer has sent too many.
func (p *pace) frame(n int) {
	p.left -= 1 + n/1024
	for p.left < 0 {
		earned := int(time.Since(p.earned).Seconds() * framesPerSecond)
		p.left = min(p.left+earned, p.most)
		p.earned = time.Now()
		if p.left < 0 {
			time.Sleep(pacePause)
		}
	}
}
