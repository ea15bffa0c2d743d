// Package datadir is the data folder as a folder: who may use it, the names and modes of its files, and its spare space. It does not
// know their contents.
package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ledge/cmd/internal/exit"
	"ledge/store/osfile"
)

// LockFile is the file in the data folder that the process in charge keeps locked; it holds the process id. Someone may
// delete it, so the folder itself is locked too, if the system can do that.
const LockFile = "ledge.pid"

// errLocked says that another process has the lock.
var errLocked = errors.New("locked")

// Held is the charge of a data folder. It goes with the process, so that a kill leaves none behind.
type Held struct {
	folder, f *os.File
	made      []string // folders that Lock has made, the data folder first
}

// Lock makes the data folder and takes charge of it. A process of root becomes the owner of the folder, see [becomeOwner].
func Lock(dir string) (*Held, error) {
	l, err := takeCharge(dir)
	if err == nil && isUnfinished(dir) {
		l.Close()
		return nil, newUnfinishedError(dir)
	}
	return l, err
}

func takeCharge(dir string) (*Held, error) {
	made, err := makeAll(dir)
	if err != nil {
		return nil, notUsable(err)
	}
	l := &Held{made: made}
	if err := l.take(dir); err != nil {
		l.Close()
		if errors.Is(err, errLocked) {
			return nil, exit.With(exit.InUse, fmt.Errorf("data folder %s is in use by process %s; stop it first or choose another --data-dir", dir, Owner(dir)))
		}
		return nil, notUsable(err)
	}
	if err := l.write(); err != nil && !osfile.IsFull(err) {
		l.Release()
		return nil, exit.With(exit.Folder, fmt.Errorf("write %s: %w", l.f.Name(), err))
	}
	return l, nil
}

// Hold keeps others away from a data folder that is only read: nothing in it is made or changed.
func Hold(dir string) (*Held, error) {
	l := &Held{}
	err := l.hold(dir)
	if errors.Is(err, errLocked) {
		l.Close()
		return nil, exit.With(exit.InUse, fmt.Errorf("data folder %s is in use by process %s; stop it first", dir, Owner(dir)))
	}
	if err != nil {
		l.Close()
		return nil, notUsable(err)
	}
	if isUnfinished(dir) {
		l.Close()
		return nil, newUnfinishedError(dir)
	}
	return l, nil
}

// notUsable is the error for a data folder that the file system does not let Ledge use.
func notUsable(err error) error {
	if IsTrouble(err) { // [exit.Cured] adds the cure
		return exit.With(exit.Folder, fmt.Errorf("setting data-dir: %w", err))
	}
	return exit.With(exit.Folder, fmt.Errorf("setting data-dir: %w; choose another folder", err))
}

func (l *Held) hold(dir string) (err error) {
	if l.folder, err = lockFolder(dir); err != nil {
		return err
	}
	l.f, err = osfile.Open(filepath.Join(dir, LockFile), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = lockFile(l.f)
	}
	if err != nil && !errors.Is(err, errLocked) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, osfile.ErrNotRegular) {
		err = nil // a file system without locks for files that are open for reading only; no server writes to such a folder
	}
	return err
}

// take locks the folder and then the file in it.
func (l *Held) take(dir string) (err error) {
	if l.folder, err = lockFolder(dir); err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := becomeOwner(l.folder); err != nil {
		return err
	}
	if l.f, err = osfile.Open(filepath.Join(dir, LockFile), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if err = lockFile(l.f); err != nil {
		return fmt.Errorf("lock %s: %w", l.f.Name(), err)
	}
	return nil
}

// write says whose folder it is.
func (l *Held) write() error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// Release gives a folder back that Lock has locked: the next owner finds no process id. It removes a folder that Lock has made, if nothing
// was written there.
func (l *Held) Release() {
	_ = l.f.Truncate(0) // for people only: what counts is the lock
	l.f.Close()
	l.removeUnused()
	l.folder.Close()
}

// removeUnused removes the folders that Lock has made if there is nothing but the lock file.
func (l *Held) removeUnused() {
	if len(l.made) == 0 {
		return
	}
	list, err := os.ReadDir(l.made[0])
	if err != nil || len(list) != 1 || list[0].Name() != LockFile || os.Remove(l.f.Name()) != nil {
		return
	}
	for _, dir := range l.made {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// Close gives the folder back and changes nothing in it.
func (l *Held) Close() {
	l.f.Close()
	l.folder.Close() // either may be nil, which is an error that says nothing
}

// Owner reads the id of the process that has the folder. Earlier versions wrote a second line.
func Owner(dir string) (pid string) {
	text, _ := osfile.Read(filepath.Join(dir, LockFile), 512)
	pid, _, _ = strings.Cut(string(text), "\n")
	return cmp.Or(pid, "(unknown)")
}
