package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/ledgetest"
)

// TestAttackPlantedSocket has another user listen at the place of admin.sock in a data folder that it may write to. Before, `ledge user passwd` sent
// it the new password.
func TestAttackPlantedSocket(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.MustDo(t, os.Remove(filepath.Join(p.Dir, datadir.AdminSocketFile)))
	path, folder, err := adminSocketPath(p.Dir)
	ledgetest.MustDo(t, err)
	defer folder.Close()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	ledgetest.MustDo(t, err)
	ledgetest.MustDo(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	ledgetest.AsNobody(t, func() { err = unix.Listen(fd, 1) })
	ledgetest.MustDo(t, err)
	l, err := net.FileListener(os.NewFile(uintptr(fd), path))
	ledgetest.MustDo(t, err)
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
	_, stderr, err := ledgetest.RunOn(t, p.Dir, "a-new-password\n", "user", "passwd", "admin")
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
	p := ledgetest.Start(t, dir)
	ledgetest.MustDo(t, os.Chmod(filepath.Join(p.Dir, datadir.AdminSocketFile), 0o666)) //nolint:gosec // the request is to get to the server
	for _, one := range []string{dir, filepath.Dir(dir)} {
		ledgetest.MustDo(t, os.Chmod(one, 0o755)) //nolint:gosec // as above
	}
	ledgetest.AsNobody(t, func() {
		for range 20 {
			_, err := askAdminSocket(t.Context(), dir, adminRequest{Do: "user list"}, nil)
			if err == nil || err.Error() != "the user nobody may not use the local commands of this server; run the command as root" {
				t.Fatalf("got %v", err)
			}
		}
	})
}
