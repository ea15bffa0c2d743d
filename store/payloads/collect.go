package payloads

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Empty reports whether nothing is kept.
func (f *Files) Empty() (bool, error) {
	all, err := f.digests()
	return len(all) == 0, err
}

// Collect removes every payload that keep says no to, and returns how many. It must not run beside Put: a payload is
// there before what refers to it.
func (f *Files) Collect(keep func(digest string) (bool, error)) (removed int, err error) {
	all, err := f.digests()
	if err != nil {
		return 0, err
	}
	for _, digest := range all {
		kept, err := keep(digest)
		if err != nil {
			return removed, fmt.Errorf("collect payloads: %w", err)
		}
		if kept {
			continue
		}
		if err := os.Remove(f.path(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("collect payloads: %w", err)
		}
		removed++
	}
	return removed, nil
}

// digests returns the names of the payloads. Files with other names are not ours.
func (f *Files) digests() ([]string, error) {
	files, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("payload folder: %w", err)
	}
	var all []string
	for _, e := range files {
		if sum, err := hex.DecodeString(e.Name()); err == nil && len(sum) == sha256.Size && e.Type().IsRegular() {
			all = append(all, e.Name())
		}
	}
	return all, nil
}
