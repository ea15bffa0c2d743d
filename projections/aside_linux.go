package projections

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// behindRequests is by how much less nice the threads of requests are: by it the kernel gives them three times as much of a
// processor that both want. It is not more, because a thread that has to wait long holds up a collection of garbage.
const behindRequests = 5

// aside calls f on a thread of its own, which ends with it, and which lets others go first where there are not processors
// enough for all. On Linux each thread has a nice value of its own; that of the first thread is what is shown as that of the
// process, and it never ends, so f gets another.
func aside(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		var another sync.WaitGroup
		another.Go(func() { aside(f) })
		another.Wait()
		runtime.UnlockOSThread()
		return
	}
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid()); err == nil {
		const none = 20 // the system call returns this less the value
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), min(none-raw+behindRequests, 19))
	}
	f()
}
