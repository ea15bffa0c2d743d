//go:build !windows

package projections

import (
	"errors"
	"os"
	"path/filepath"
)

// syncFolder fsyncs the folder of a file: what was created, renamed or removed there survives a power cut.
func syncFolder(path string) error {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
