package main

import (
	"os"
	"runtime"
	"time"
)

// tuneProcessors has one goroutine more run at once than Go would by itself, unless GOMAXPROCS says how many. While a thread waits
// in fsync it keeps its place among them until the runtime takes notice, which on a machine of two processors leaves one idle for
// a good part of each fsync. One place more gives up to a tenth more changes a second.
func tuneProcessors() {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	runtime.SetDefaultGOMAXPROCS() // of the machine, the affinity and the container as they are now
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
}

// processorsEvery is how often a container's limit is looked at. A number that is set by hand is one that Go does not adapt any more.
const processorsEvery = 30 * time.Second

// followProcessors follows the limit of the container, and ends with done. Each look stops all goroutines for some microseconds.
func followProcessors(done <-chan struct{}) {
	look := time.NewTicker(processorsEvery)
	defer look.Stop()
	for {
		select {
		case <-done:
			return
		case <-look.C:
			tuneProcessors()
		}
	}
}
