package admin

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
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
	dir := t.TempDir()
	path, folder, err := socketPath(dir)
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
	_, err = (&Client{dir}).Ask(t.Context(), Request{Do: "user passwd", Name: "admin", Password: "a-new-password"}, nil)
	if e, ok := errors.AsType[exit.Error](err); !ok || e.Code != exit.Folder || !strings.Contains(err.Error(), "a process of the user nobody listens at") ||
		!strings.Contains(err.Error(), "nothing was sent; remove the socket") {
		t.Errorf("got %v", err)
	}
	if text := <-got; text != "" {
		t.Errorf("the socket got %q", text)
	}
}

// TestAdminSocketOfOthers has another user ask, which may not use the socket. Before, the answer was "broken pipe".
func TestAdminSocketOfOthers(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, nil, nil)
	defer s.Close()
	mustDo(t, os.Chmod(filepath.Join(dir, datadir.AdminSocketFile), 0o666)) //nolint:gosec // the request is to get to the server
	for _, one := range []string{dir, filepath.Dir(dir)} {
		mustDo(t, os.Chmod(one, 0o755)) //nolint:gosec // as above
	}
	asNobody(t, func() {
		for range 20 {
			_, err := (&Client{dir}).Ask(t.Context(), Request{Do: "user list"}, nil)
			if err == nil || err.Error() != "the user nobody may not use the local commands of this server; run the command as root" {
				t.Fatalf("got %v", err)
			}
		}
	})
}
