package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"ledge/cmd/internal/heapgoal"
)

// quietLook is how often is looked how much is allocated, and quietBytes how much that is at most when there is little to do.
const (
	quietLook  = 500 * time.Millisecond
	quietBytes = 1 << 20
)

// besideBodies is what the log, its queues and the overlays of the projections take at their bounds, in bytes.
const besideBodies = 96 << 20

// memoryTarget is from where on the collector runs as often as it must: what lives is within it as long as each byte of a
// body in work lives about once. A lower goal that follows what lives was tried: 112 MiB cost arrays of devices a third.
func (c *Config) memoryTarget() int64 { return besideBodies + int64(c.LimitBodyMemory) }

// Memory is given back after so many quiet looks in a row: soon after a burst, and once more when the NATS server has let go of
// its caches, 10 seconds after their last use.
const (
	quietSoon = 2
	quietLong = 40
)

// tuneMemory bounds the memory, unless GOMEMLIMIT does, and gives memory back when a burst, or what the start does behind the ready
// line, is over. It ends with done.
func tuneMemory(done <-chan struct{}, target int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		heapgoal.Limit(target)
	}
	look := time.NewTicker(quietLook)
	defer look.Stop()
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocated)
	for quiet, last := 0, allocated[0].Value.Uint64(); ; {
		select {
		case <-done:
			return
		case <-look.C:
		}
		metrics.Read(allocated)
		now := allocated[0].Value.Uint64()
		if now-last > quietBytes {
			quiet = 0
		} else {
			quiet++
		}
		last = now
		switch quiet {
		case quietSoon:
			debug.FreeOSMemory()
		case quietLong:
			for range 3 { // a buffer that goes to a pool when it is collected is free after two collections more
				debug.FreeOSMemory()
			}
		}
	}
}
