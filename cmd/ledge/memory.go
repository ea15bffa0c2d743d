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

// idleFor are the numbers of looks in a row without a recorded event after which memory is given back: soon, and again
// when what the start verifies in the background is done.
var idleFor = []int{2, 5, 20}

// tuneMemory sets the collector up, unless GOGC does, and gives memory back whenever activity has stood still for a
// while. It ends with done.
func tuneMemory(done <-chan struct{}, activity func() uint64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
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
