package main

import (
	"os"
	"runtime"
)

// tuneProcessors has one goroutine more run at once than there are processors, unless GOMAXPROCS says how many. While a
// thread waits in fsync it keeps its place among them until the runtime takes notice, which on a machine of two processors
// leaves one idle for a good part of each fsync; with a place more, that one goes on.
func tuneProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
