package admin

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"ledge/cmd/internal/datadir"
)

// socketPath returns the path of the socket. It goes through an open folder, because the system takes no paths above 107 bytes:
// close the folder after use.
func socketPath(dir string) (string, *os.File, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), datadir.AdminSocketFile), folder, nil
}

// findOwner returns the user that a folder belongs to.
func findOwner(dir string) (uid int, err error) {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return 0, fmt.Errorf("find the owner of %s: %w", dir, err)
	}
	return int(s.Uid), nil
}

// findPeer returns the user at the other end.
func findPeer(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("read the peer: %w", err)
	}
	return int(cred.Uid), nil
}
