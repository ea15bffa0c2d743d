//go:build !linux

package main

import (
	"errors"
	"os"
)

// allocate is only known on Linux.
func allocate(*os.File, int64) error { return errors.ErrUnsupported }
