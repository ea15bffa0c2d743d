package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// lockFile is the file in the data folder that the process in charge keeps locked; it holds the process id and, once
// the server is up, where taps connect, a line each.
const lockFile = "ledge.pid"

// errLocked says that another process has the lock.
var errLocked = errors.New("locked")

// dataLock is the charge of a data folder. It goes with the process, so that a kill leaves none behind.
type dataLock struct{ f *os.File }

// lockDataDir makes the data folder and takes charge of it.
func lockDataDir(dir string) (*dataLock, error) {
	if err := makeFolder(dir); err != nil {
		return nil, exitError{exitFolder, fmt.Errorf("setting data-dir: %w; choose a folder that can be written", err)}
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, exitError{exitFolder, fmt.Errorf("setting data-dir: %w; choose a folder that can be written", err)}
	}
	if err := lock(f); err != nil {
		f.Close()
		if errors.Is(err, errLocked) {
			pid, _ := owner(dir)
			return nil, exitError{exitInUse, fmt.Errorf("data folder %s is in use by process %s; stop it first or choose another --data-dir", dir, pid)}
		}
		return nil, exitError{exitFolder, fmt.Errorf("lock %s: %w", f.Name(), err)}
	}
	l := &dataLock{f}
	if err := l.write(""); err != nil {
		l.release()
		return nil, exitError{exitFolder, fmt.Errorf("write %s: %w", f.Name(), err)}
	}
	return l, nil
}

// write says whose folder it is and where taps connect.
func (l *dataLock) write(tapURL string) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt(fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), tapURL), 0)
	return err
}

func (l *dataLock) release() {
	_ = l.f.Truncate(0) // for people only: what counts is the lock
	l.f.Close()
}

// owner reads the process id and the tap's URL of the process that has the folder.
func owner(dir string) (pid, tapURL string) {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return "(unknown)", ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, 512))
	lines := strings.SplitN(string(b)+"\n\n", "\n", 3)
	if lines[0] == "" {
		lines[0] = "(unknown)"
	}
	return lines[0], lines[1]
}
