package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ledge/store/osfile"
)

// lockFile is the file in the data folder that the process in charge keeps locked; it holds the process id. Someone may
// delete it, so the folder itself is locked too, where the system can do that.
const lockFile = "ledge.pid"

// errLocked says that another process has the lock.
var errLocked = errors.New("locked")

// dataLock is the charge of a data folder. It goes with the process, so that a kill leaves none behind.
type dataLock struct{ folder, f *os.File }

// lockDataDir makes the data folder and takes charge of it.
func lockDataDir(dir string) (*dataLock, error) {
	if err := makeFolder(dir); err != nil {
		return nil, notUsable(err)
	}
	l := &dataLock{}
	if err := l.take(dir); err != nil {
		l.close()
		if errors.Is(err, errLocked) {
			return nil, exitError{exitInUse, fmt.Errorf("data folder %s is in use by process %s; stop it first or choose another --data-dir", dir, owner(dir))}
		}
		return nil, notUsable(err)
	}
	if err := l.write(); err != nil && !osfile.IsFull(err) {
		l.release()
		return nil, exitError{exitFolder, fmt.Errorf("write %s: %w", l.f.Name(), err)}
	}
	return l, nil
}

// holdDataDir keeps others away from a data folder that is only read: nothing in it is made or changed.
func holdDataDir(dir string) (*dataLock, error) {
	l := &dataLock{}
	err := l.hold(dir)
	if errors.Is(err, errLocked) {
		l.close()
		return nil, exitError{exitInUse, fmt.Errorf("data folder %s is in use by process %s; stop it first", dir, owner(dir))}
	}
	if err != nil {
		l.close()
		return nil, notUsable(err)
	}
	return l, nil
}

// notUsable is the error for a data folder that the file system does not let Ledge use.
func notUsable(err error) error {
	if isFolderTrouble(err) { // [cured] says what to do
		return exitError{exitFolder, fmt.Errorf("setting data-dir: %w", err)}
	}
	return exitError{exitFolder, fmt.Errorf("setting data-dir: %w; choose another folder", err)}
}

func (l *dataLock) hold(dir string) (err error) {
	if l.folder, err = lockFolder(dir); err != nil {
		return err
	}
	l.f, err = osfile.Open(filepath.Join(dir, lockFile), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = lock(l.f)
	}
	if err != nil && !errors.Is(err, errLocked) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, osfile.ErrNotRegular) {
		err = nil // a file system without locks for files that are open for reading only; no server writes to such a folder
	}
	return err
}

// take locks the folder and then the file in it.
func (l *dataLock) take(dir string) (err error) {
	if l.folder, err = lockFolder(dir); err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	if l.f, err = osfile.Open(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if err = lock(l.f); err != nil {
		return fmt.Errorf("lock %s: %w", l.f.Name(), err)
	}
	return nil
}

// write says whose folder it is.
func (l *dataLock) write() error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

func (l *dataLock) release() {
	_ = l.f.Truncate(0) // for people only: what counts is the lock
	l.close()
}

func (l *dataLock) close() {
	l.f.Close()
	l.folder.Close() // either may be nil, which is an error that says nothing
}

// owner reads the id of the process that has the folder. Earlier versions wrote a second line.
func owner(dir string) (pid string) {
	text, _ := osfile.Read(filepath.Join(dir, lockFile), 512)
	pid, _, _ = strings.Cut(string(text), "\n")
	return cmp.Or(pid, "(unknown)")
}
