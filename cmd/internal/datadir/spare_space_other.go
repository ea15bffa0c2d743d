//go:build !linux

package datadir

import (
	"errors"
	"os"
)

// allocate is only known on Linux.
func allocate(*os.File, int64) error { return errors.ErrUnsupported }
