//go:build !linux

package osfile

import (
	"errors"
	"os"
)

// SetDirect has the reads and writes of a file go past the page cache, which is only done on Linux.
func SetDirect(_ *os.File, on bool) error {
	if on {
		return errors.ErrUnsupported
	}
	return nil
}
