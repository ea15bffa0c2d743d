package heapgoal

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// The heap may grow by what lives and by the ballast, however much lives, and a memory limit that was set is for the rest.
func TestTune(t *testing.T) {
	t.Cleanup(func() { ballast = nil; debug.SetMemoryLimit(math.MaxInt64) })
	t.Setenv("GOGC", "")
	const limit = 1 << 30
	debug.SetMemoryLimit(limit)
	Tune()
	if got := debug.SetMemoryLimit(-1); got != limit+ballastBytes {
		t.Errorf("the memory limit is %d, want %d", got, limit+ballastBytes)
	}
	for _, bytes := range []uint64{1 << 20, 100 << 20, 1 << 20} {
		held := make([]byte, bytes)
		runtime.GC()
		got, want := goal(), 2*(bytes+ballastBytes)
		runtime.KeepAlive(held)
		if got < want || got > want+want/4 { // the test itself lives too
			t.Errorf("%d bytes live: the goal is %d, want %d", bytes, got, want)
		}
	}
}

func TestGOGC(t *testing.T) {
	t.Setenv("GOGC", "100")
	if Tune(); ballast != nil {
		t.Error("there is a ballast")
	}
}

func goal() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
