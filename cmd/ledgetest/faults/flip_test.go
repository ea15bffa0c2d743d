package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// flipped are files whose bytes are flipped one after the other, and a copy of their folder in which that is done.
type flipped struct {
	files []sized
	bytes int
	dir   string
}

// locate finds a byte by its position in all files, one behind the other.
func (f flipped) locate(position int) (rel string, at int) {
	for _, file := range f.files {
		if position < file.size {
			return file.rel, position
		}
		position -= file.size
	}
	return "", 0
}

func (f flipped) name(position int) string {
	rel, at := f.locate(position)
	return fmt.Sprintf("%s at %d", rel, at)
}

// flip flips a bit of a byte; a second time undoes it.
func (f flipped) flip(dir string, position int) error {
	rel, at := f.locate(position)
	file, err := os.OpenFile(filepath.Join(dir, rel), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b := make([]byte, 1)
	_, err = file.ReadAt(b, int64(at))
	if err == nil {
		b[0] ^= 1 << (position % 8)
		_, err = file.WriteAt(b, int64(at))
	}
	return errors.Join(err, file.Close())
}

// verify runs `ledge verify` and returns what it names. ok is false if it says something else than whole or damaged, which is then for a
// run in full.
func (f flipped) verify(position int) (damage string, ok bool) {
	if f.flip(f.dir, position) != nil {
		return "", false
	}
	_, errs, code, err := ledgetest.TryRun(context.Background(), "verify", "--data-dir", f.dir)
	return lastLine(errs), f.flip(f.dir, position) == nil && err == nil && (code == exit.OK || code == exit.Damaged)
}
