package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// leastMemory is the lowest memory limit of the Go runtime, in bytes. Under an ordinary load some 70 MB are in use, so that garbage has room
// for as much again.
const leastMemory = 128 << 20

// limitStep is by how much the limit changes at a time: each change stops the program for some microseconds.
const limitStep = 16 << 20

// limitFor is the memory limit for a heap of which so many bytes are in use after a collection. Half of that is left for garbage: with
// less, a large request would keep the processors busy with collections.
func limitFor(live int64) int64 {
	limit := live + live/2 + limitStep
	return max(leastMemory, limit/limitStep*limitStep)
}

// limitMemory keeps the memory limit of the Go runtime at limitFor what is in use, unless GOMEMLIMIT sets another. How often
// garbage is collected below the limit is left to GOGC.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(leastMemory)
		afterCollection(leastMemory)
	}
}

// afterCollection has the limit follow each collection. The runtime tells of one by collecting an object that nothing uses.
func afterCollection(limit int64) {
	runtime.AddCleanup(new([64]byte), func(limit int64) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if next := limitFor(int64(live[0].Value.Uint64())); next != limit {
			debug.SetMemoryLimit(next)
			limit = next
		}
		afterCollection(limit)
	}, limit)
}

// The process counts as idle when it has allocated at most idleBytes in each of two idleChecks in a row: by then the NATS server, too, has
// let go of the blocks that it cached, which it does 10 seconds after their last use.
const (
	idleCheck = 10 * time.Second
	idleBytes = 4 << 20
)

// freeWhenIdle gives the garbage of a load back to the system once the load is over. The runtime collects only as memory is
// allocated, so without this an idle process would keep the heap of its last load.
func freeWhenIdle(done <-chan struct{}) {
	check := time.NewTicker(idleCheck)
	defer check.Stop()
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	for idle, last := 0, uint64(0); ; {
		select {
		case <-done:
			return
		case <-check.C:
		}
		metrics.Read(allocated)
		now := allocated[0].Value.Uint64()
		if idle++; now-last > idleBytes {
			idle = 0
		}
		if last = now; idle == 2 {
			debug.FreeOSMemory()
			debug.FreeOSMemory() // a pool keeps its buffers for one collection more
		}
	}
}
