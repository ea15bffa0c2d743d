package main

import (
	"os"
	"runtime/debug"
	"slices"
	"time"

	"ledge/cmd/internal/heapgoal"
)

// idleLooks is how often is looked whether there is nothing to do: what a burst or the start has left is given back then.
const idleLooks = 500 * time.Millisecond

// besideBodies is what the log, its queues and the overlays of the projections take at their bounds, in bytes.
const besideBodies = 96 << 20

// memoryTarget is from where on the collector runs as often as it must: what lives is within it as long as each byte of a
// body in work lives about once. A lower goal that follows what lives was tried: 112 MiB cost arrays of devices a third.
func (c *Config) memoryTarget() int64 { return besideBodies + int64(c.LimitBodyMemory) }

// idleFor are the numbers of looks in a row without a recorded event after which memory is given back: soon, again
// when what the start verifies in the background is done, and when the NATS server has let go of its caches, 10 seconds
// after their last use.
var idleFor = []int{2, 5, 20, 40}

// tuneMemory bounds the memory, unless GOMEMLIMIT does, and gives memory back whenever activity has stood still for a
// while. It ends with done.
func tuneMemory(done <-chan struct{}, target int64, activity func() uint64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		heapgoal.Limit(target)
	}
	look := time.NewTicker(idleLooks)
	defer look.Stop()
	last := activity()
	for idle := 0; ; {
		select {
		case <-done:
			return
		case <-look.C:
		}
		now := activity()
		if now != last {
			last, idle = now, 0
			continue
		}
		if idle++; slices.Contains(idleFor, idle) {
			debug.FreeOSMemory()
		}
		if idle == idleFor[len(idleFor)-1] { // a buffer that goes to a pool when it is collected is free after two collections more
			debug.FreeOSMemory()
			debug.FreeOSMemory()
		}
	}
}
