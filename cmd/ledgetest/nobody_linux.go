package ledgetest

import (
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
