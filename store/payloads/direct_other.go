//go:build !linux

package payloads

import (
	"errors"
	"os"
)

// setDirect has the writes to a file go past the page cache, which is only done on Linux.
func setDirect(_ *os.File, on bool) error {
	if on {
		return errors.ErrUnsupported
	}
	return nil
}
