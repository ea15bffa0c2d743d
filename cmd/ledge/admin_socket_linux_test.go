package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"ledge/cmd/internal/datadir"
)

// asNobody runs f in a thread of the user nobody.
func asNobody(t *testing.T, f func()) {
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

// TestAttackPlantedSocket has another user listen at the place of admin.sock in a data folder that it may write to. Before, `ledge user passwd` sent
// it the new password.
func TestAttackPlantedSocket(t *testing.T) {
	p := start(t, t.TempDir())
	mustDo(t, os.Remove(filepath.Join(p.dir, datadir.AdminSocketFile)))
	path, folder, err := adminSocketPath(p.dir)
	mustDo(t, err)
	defer folder.Close()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	mustDo(t, err)
	mustDo(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	asNobody(t, func() { err = unix.Listen(fd, 1) })
	mustDo(t, err)
	l, err := net.FileListener(os.NewFile(uintptr(fd), path))
	mustDo(t, err)
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		text := make([]byte, 100)
		n, _ := c.Read(text)
		got <- string(text[:n])
	}()
	_, stderr, err := ledgeOn(t, p.dir, "a-new-password\n", "user", "passwd", "admin")
	if err == nil || !strings.Contains(stderr, "a process of the user nobody listens at") || !strings.Contains(stderr, "nothing was sent; remove the socket") {
		t.Errorf("got %v %s", err, stderr)
	}
	if text := <-got; text != "" {
		t.Errorf("the socket got %q", text)
	}
}

// TestAdminSocketOfOthers has another user ask, which may not use the socket. Before, the answer was "broken pipe".
func TestAdminSocketOfOthers(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	mustDo(t, os.Chmod(filepath.Join(p.dir, datadir.AdminSocketFile), 0o666)) //nolint:gosec // the request is to get to the server
	for _, one := range []string{dir, filepath.Dir(dir)} {
		mustDo(t, os.Chmod(one, 0o755)) //nolint:gosec // as above
	}
	asNobody(t, func() {
		for range 20 {
			_, err := askAdminSocket(t.Context(), dir, adminRequest{Do: "user list"}, nil)
			if err == nil || err.Error() != "the user nobody may not use the local commands of this server; run the command as root" {
				t.Fatalf("got %v", err)
			}
		}
	})
}
