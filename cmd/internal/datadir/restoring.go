package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ledge/cmd/internal/exit"
	"ledge/store/osfile"
)

// New is a data folder that is being restored. No command but this one opens it before Finish.
type New struct {
	held *Held
	dir  string
}

// Create takes charge of a new data folder, which must not exist or be empty. A process of root becomes the owner of a folder that exists.
func Create(dir string) (*New, error) {
	if err := MustBeNew(dir); err != nil {
		return nil, err
	}
	held, err := takeCharge(dir)
	if err != nil {
		return nil, err
	}
	n := &New{held, dir}
	if err := MustBeNew(dir); err != nil { // it was empty before it was locked
		held.Release()
		return nil, err
	}
	if err := osfile.Write(n.markPath(), []byte("ledge restore has not completed this folder\n")); err != nil {
		return nil, errors.Join(exit.With(exit.Folder, err), n.Abandon())
	}
	return n, nil
}

func (n *New) markPath() string { return filepath.Join(n.dir, RestoringFile) }

// Finish makes the folder a data folder that every command takes, and gives it back.
func (n *New) Finish() error {
	defer n.held.Release()
	if err := os.Remove(n.markPath()); err != nil {
		return err
	}
	return osfile.SyncDir(n.dir)
}

// Abandon removes all files in the folder, and the folder if Create has made it. The mark goes last, because a kill may come before.
func (n *New) Abandon() error {
	list, err := os.ReadDir(n.dir)
	for _, e := range list {
		if !slices.Contains([]string{LockFile, RestoringFile, lostAndFound}, e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(n.dir, e.Name())))
		}
	}
	if err == nil {
		err = os.RemoveAll(n.markPath())
	}
	if err == nil && len(n.held.made) == 0 {
		err = os.RemoveAll(n.held.f.Name()) // so that the folder is empty for the next restore
	}
	n.held.Release()
	return err
}

// isUnfinished reports whether a folder is of a restore that was killed, or that runs.
func isUnfinished(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, RestoringFile))
	return err == nil
}

func newUnfinishedError(dir string) error {
	const says = "%s is not complete: `ledge restore` was killed, or is at work as process %s; " +
		"if it was killed, remove the files in the folder, and restore the backup again"
	err := fmt.Errorf(says, dir, Owner(dir))
	return exit.With(exit.Folder, err)
}
