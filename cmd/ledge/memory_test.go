package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMemoryLimitFollowsWhatIsUsed holds that the limit rises when a large request takes much, and falls again afterwards.
func TestMemoryLimitFollowsWhatIsUsed(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	limitMemory()
	if limit := debug.SetMemoryLimit(-1); limit != leastMemory {
		t.Errorf("the limit is %d at first, want %d", limit, leastMemory)
	}
	const large = 300 << 20
	held := make([]byte, large)
	for debug.SetMemoryLimit(-1) < large*3/2 { // until the deadline of the test
		runtime.GC()
	}
	runtime.KeepAlive(held)
	for debug.SetMemoryLimit(-1) >= large {
		runtime.GC()
	}
}

func TestGOMEMLIMIT(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "1GiB")
	before := debug.SetMemoryLimit(-1)
	if limitMemory(); debug.SetMemoryLimit(-1) != before {
		t.Error("the limit was changed")
	}
}
