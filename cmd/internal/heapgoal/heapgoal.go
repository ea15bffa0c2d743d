// Package heapgoal has the garbage collector run less often than it does by itself for a small heap.
//
// The heap of Ledge that lives is some 10 MB at rest and 20 to 60 MB under load. With GOGC=100 it would be collected when it has
// grown to twice that, tens of times a second. A higher GOGC would do as much for a small heap as a ballast does, and too much
// for a large one. One that is set anew after each collection comes too late for a burst: what lives is more then by a
// multiple, and so is the heap before the next collection.
package heapgoal

import (
	"math"
	"os"
	"runtime/debug"
)

// ballast counts as part of the heap and is never touched, so that it takes no memory: the heap grows to twice what lives
// and as much as the ballast. With it, up to 140 MB are resident while bodies of 100 KB come from 64 clients, which of all
// sizes take the most; each megabyte more is one or two there.
var ballast []byte

const ballastBytes = 16 << 20

// Tune makes the ballast, unless GOGC says how often to collect. A memory limit that is set, as by GOMEMLIMIT, is for the
// rest.
func Tune() {
	if os.Getenv("GOGC") != "" {
		return
	}
	ballast = make([]byte, ballastBytes)
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		Limit(limit)
	}
}

// Limit sets the memory limit for all but the ballast, in bytes.
func Limit(bytes int64) { debug.SetMemoryLimit(bytes + int64(len(ballast))) }
