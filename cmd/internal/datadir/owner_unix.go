//go:build unix

package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// becomeOwner has a process of root become the owner of a data folder, for ever. All files that it makes there are the owner's. A link of
// the owner leads to nothing that the owner may not change. Files that root alone can read have to be read before.
func becomeOwner(folder *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := folder.Stat()
	if err != nil {
		return err
	}
	uid, gid, ok := ownerOf(info)
	if !ok {
		return nil
	}
	if err = syscall.Setgroups([]int{gid}); err == nil {
		err = syscall.Setgid(gid)
	}
	if err == nil {
		err = syscall.Setuid(uid)
	}
	if err != nil {
		return fmt.Errorf("%s belongs to user %d, and root cannot become this user: %w; run ledge as user %[2]d", folder.Name(), uid, err)
	}
	return nil
}

// MakeLike makes a folder, and those above it, with the owner of another one, unless they are there. Their names are on disk when MakeLike
// returns.
func MakeLike(dir, other string) error {
	made, err := makeAll(dir)
	if err != nil || len(made) == 0 || os.Geteuid() != 0 {
		return err
	}
	info, err := os.Stat(other)
	if err != nil {
		return err
	}
	uid, gid, ok := ownerOf(info)
	if !ok {
		return nil
	}
	for _, folder := range made {
		if err := giveFolder(folder, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

// ownerOf returns the user and the group of a file; ok is false for root.
func ownerOf(info fs.FileInfo) (uid, gid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// giveFolder gives a folder an owner. It follows no link.
func giveFolder(dir string, uid, gid int) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Chown(uid, gid)
}
