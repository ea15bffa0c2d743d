// Package memory bounds the memory of the process: the soft limit and how far garbage may grow.
package memory

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

const (
	// softMemory is the soft memory limit in bytes if neither a cgroup nor GOMEMLIMIT sets one. Garbage grows no further than this, or than
	// softGarbage above what is in use: a limit that is too low would have the processor do nothing but collect. A share of what is in use
	// would feed itself, because what is allocated during a collection counts as in use.
	softMemory  = 144 << 20
	softGarbage = 32 << 20
	// garbageShare is GOGC: how far garbage grows below the soft memory limit, in percent of what is in use. With Go's 100 a tenth of the
	// processor collects the garbage of a load of reads, which have little in use.
	garbageShare = 300
	// collectEvery is how long garbage stays at most. Without a load Go collects every two minutes, and what is kept for
	// the next request, such as the NATS server's buffers of 8 MB, takes three collections to be freed.
	collectEvery = 15 * time.Second
)

// Limit sets the soft memory limit and the share of garbage, unless GOMEMLIMIT and GOGC set them, and collects garbage also when no
// load does.
func Limit() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageShare)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := softLimit("/proc/self/cgroup", "/sys/fs/cgroup"); limit != 0 {
			debug.SetMemoryLimit(limit)
		} else {
			fitMemory()
		}
	}
	go func() {
		for range time.Tick(collectEvery) {
			runtime.GC()
		}
	}()
}

// fitMemory sets the soft memory limit by what is in use, now and after each collection, which runs the cleanup of an object that nothing
// refers to. A limit that followed later would be below what is in use after a sudden load.
func fitMemory() {
	debug.SetMemoryLimit(max(softMemory, inUse()+softGarbage))
	runtime.AddCleanup(new(*int), func(struct{}) { fitMemory() }, struct{}{})
}

// inUse is how many bytes of the heap the last collection left.
func inUse() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// softLimit is 80 % of the lowest memory limit of the process's cgroup (version 2) and of those above it, or 0 without one. The rest is
// for what Go does not count: pages of files that the kernel cannot take back at once, and memory that is over the limit for a moment.
func softLimit(own, root string) int64 {
	text, _ := os.ReadFile(own) // on Linux only
	lowest := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ; ok; path = filepath.Dir(path) {
			limit, _ := os.ReadFile(filepath.Join(root, path, "memory.max")) // "max" means unlimited; the root lacks the file
			if n, err := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64); err == nil {
				lowest = min(lowest, n)
			}
			ok = path != "/" && path != "."
		}
	}
	if lowest == math.MaxInt64 {
		return 0
	}
	return lowest / 5 * 4
}
