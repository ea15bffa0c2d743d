//go:build unix

package server

import (
	"math"

	"golang.org/x/sys/unix"
)

// mostDescriptors is RLIMIT_NOFILE. Go has raised the soft limit to the hard one when the process started.
func mostDescriptors() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	return int(min(limit.Cur, math.MaxInt32)), nil
}
