package main

import (
	"os"
	"runtime/debug"
	"slices"
	"time"
)

// The live heap is a few megabytes, so the collector's default would run it hundreds of times a second under load.
// It may grow to gcPercent of that between two runs; what a burst or the start has left is given back when idle.
const (
	gcPercent = 400
	idleLooks = 500 * time.Millisecond
)

// besideBodies is what the log, its queues and the overlays of the projections take at their bounds, in bytes.
const besideBodies = 128 << 20

// memoryTarget is from where on the collector runs as often as it must, whatever gcPercent says: what lives is within
// it as long as each byte of a body in work lives about once.
func (c *Config) memoryTarget() int64 { return besideBodies + int64(c.LimitBodyMemory) }

// idleFor are the numbers of looks in a row without a recorded event after which memory is given back: soon, and again
// when what the start verifies in the background is done.
var idleFor = []int{2, 5, 20}

// tuneCollector has the collector run less often, unless GOGC says how often. It is for all commands: a rebuild makes as much
// garbage as a load does.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// tuneMemory bounds the memory, unless GOMEMLIMIT does, and gives memory back whenever activity has stood still for a
// while. It ends with done.
func tuneMemory(done <-chan struct{}, target int64, activity func() uint64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(target)
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
	}
}
