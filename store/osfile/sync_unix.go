//go:build unix

package osfile

import (
	"errors"
	"os"
)

// SyncDir fsyncs a folder, which makes the names in it durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
