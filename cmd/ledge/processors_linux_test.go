package main

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProcessors holds that one goroutine more runs at once than there are processors, also when their number has changed
// since, and that GOMAXPROCS goes before.
func TestProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "1")
	if tuneProcessors(); runtime.GOMAXPROCS(0) != before {
		t.Errorf("got %d although the environment says how many", runtime.GOMAXPROCS(0))
	}
	t.Setenv("GOMAXPROCS", "")
	runtime.SetDefaultGOMAXPROCS()
	want := runtime.GOMAXPROCS(0) + 1
	for range 2 {
		if tuneProcessors(); runtime.GOMAXPROCS(0) != want {
			t.Errorf("got %d, want %d", runtime.GOMAXPROCS(0), want)
		}
	}
	runtime.LockOSThread() // which has an affinity of its own
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := range len(all) * 64 {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	if tuneProcessors(); runtime.GOMAXPROCS(0) != 2 {
		t.Errorf("with one processor left: got %d, want 2", runtime.GOMAXPROCS(0))
	}
	if err := unix.SchedSetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
}
