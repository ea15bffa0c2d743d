package ledgetest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// AsNobody runs f in a thread of the user nobody.
func AsNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const same, nobody = ^uintptr(0), 65534
	become := func(uid uintptr) {
		if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, same, uid, same); err != 0 { // of this thread alone
			t.Fatal(err)
		}
	}
	become(nobody)
	defer become(0)
	f()
}

// Cancelling ends a context with the first write that finds a file gone, or another file in its place.
type Cancelling struct {
	bytes.Buffer
	File   string
	Old    *os.File // is open, so that no other file gets its inode; nil for none
	Cancel func()
}

func (c *Cancelling) Write(b []byte) (int, error) {
	now, err := os.Stat(c.File)
	old, oldErr := c.Old.Stat()
	if err != nil || oldErr != nil || !os.SameFile(now, old) {
		c.Cancel()
	}
	return c.Buffer.Write(b)
}

// StartWithFiles starts a node that may have so many files open.
func StartWithFiles(t *testing.T, dir string, files int) *Node {
	t.Helper()
	p := LaunchUnder(t, []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, files), "sh"}, dir)
	if err := p.WaitReady(); err != nil {
		t.Fatal(err, p.Log)
	}
	return p
}
