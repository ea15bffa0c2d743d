package projections

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The thread that flushes lets others go first, when it is told and for as long as the file is open, and no other thread does.
func TestFlushesStepAside(t *testing.T) {
	usual, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
	if err != nil {
		t.Fatal(err)
	}
	nice := 20 - usual
	if nice+behindRequests > 19 {
		t.Skipf("the test itself has a nice value of %d, and nothing is nicer than 19 by %d", nice, behindRequests)
	}
	before := threads(t, nice+behindRequests)
	d, err := Open(Options{Path: filepath.Join(t.TempDir(), "events.db"), Tables: Events})
	if err != nil {
		t.Fatal(err)
	}
	if got := threads(t, nice+behindRequests); got != before {
		t.Errorf("%d threads step aside of a file that catches up, want %d", got, before)
	}
	d.RequestsFirst()
	d.RequestsFirst() // has nothing to do
	becomes(t, nice+behindRequests, before+1)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	becomes(t, nice+behindRequests, before)
}

// becomes waits until so many threads have a nice value.
func becomes(t *testing.T, nice, want int) {
	t.Helper()
	for range 10_000 {
		if threads(t, nice) == want {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d threads have a nice value of %d, want %d", threads(t, nice), nice, want)
}

// threads counts the threads of this process that have a nice value.
func threads(t *testing.T, nice int) (n int) {
	t.Helper()
	list, err := filepath.Glob("/proc/self/task/*/stat")
	if err != nil || len(list) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	for _, path := range list {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		const field = 19 - 3 // man 5 proc counts from 1, and pid and comm are cut off
		got, err := strconv.Atoi(fields[field])
		if err != nil {
			t.Fatalf("%s: %v", stat, err)
		}
		if got == nice {
			n++
		}
	}
	return n
}
