//go:build !linux

package main

import (
	"net"
	"os"
	"path/filepath"

	"ledge/cmd/internal/datadir"
)

// adminSocketPath returns the path of the socket.
func adminSocketPath(dir string) (string, *os.File, error) {
	return filepath.Join(dir, datadir.AdminSocketFile), nil, nil
}

// ownerOf returns the user of this process.
func ownerOf(string) (uid int, err error) { return os.Getuid(), nil }

// peerOf returns the user of this process: the mode of the socket keeps the others away.
func peerOf(*net.UnixConn) (uid int, err error) { return os.Getuid(), nil }
