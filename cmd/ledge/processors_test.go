package main

import (
	"runtime"
	"testing"
)

func TestProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "1")
	if tuneProcessors(); runtime.GOMAXPROCS(0) != before {
		t.Errorf("got %d although the environment says how many", runtime.GOMAXPROCS(0))
	}
	t.Setenv("GOMAXPROCS", "")
	if tuneProcessors(); runtime.GOMAXPROCS(0) != before+1 {
		t.Errorf("got %d, want %d", runtime.GOMAXPROCS(0), before+1)
	}
}
