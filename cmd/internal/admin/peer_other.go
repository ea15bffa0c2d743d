//go:build !linux

package admin

import (
	"net"
	"os"
	"path/filepath"

	"ledge/cmd/internal/datadir"
)

// socketPath returns the path of the socket.
func socketPath(dir string) (string, *os.File, error) {
	return filepath.Join(dir, datadir.AdminSocketFile), nil, nil
}

// findOwner returns the user of this process.
func findOwner(string) (uid int, err error) { return os.Getuid(), nil }

// findPeer returns the user of this process: the mode of the socket keeps the others away.
func findPeer(*net.UnixConn) (uid int, err error) { return os.Getuid(), nil }
