package datadir

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFolder has nothing to do: Windows does not delete a file that is open.
func lockFolder(string) (*os.File, error) { return nil, nil }

// lockFile locks a byte far behind the process id, so that others can still read that.
func lockFile(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}
