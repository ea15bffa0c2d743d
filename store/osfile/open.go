package osfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular says that something else stands where Ledge keeps a file: a symbolic link, a FIFO, a socket, a device or
// a folder.
var ErrNotRegular = errors.New("it is not a regular file")

// Open is os.OpenFile for a file of the data folder. It refuses with [ErrNotRegular] what is not a regular file, and
// does not follow a link. It never waits, as an open of a FIFO without a peer does.
func Open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := openNoFollow(path, flag, perm)
	if err != nil {
		if info, lerr := os.Lstat(path); lerr == nil && !info.Mode().IsRegular() {
			return nil, notRegular(path, info.Mode())
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(path, info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read is os.ReadFile by way of [Open]. More than limit bytes are an error.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: it is longer than %d bytes", path, limit)
	}
	return text, err
}

// Unreadable reports whether err is of a file that was opened, and that the disk cannot read.
func Unreadable(err error) bool {
	failed, ok := errors.AsType[*fs.PathError](err)
	return ok && failed.Op == "read"
}

func notRegular(path string, mode fs.FileMode) error {
	return fmt.Errorf("%s: %w: it is a %s; remove it, and put the file back that Ledge has written, if there was one", path, ErrNotRegular, kindOf(mode))
}

// NotRegular returns an error that wraps [ErrNotRegular] where mode is that of something else than a file.
func NotRegular(path string, mode fs.FileMode) error {
	if mode.IsRegular() {
		return nil
	}
	return notRegular(path, mode)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "FIFO"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&(fs.ModeDevice|fs.ModeCharDevice) != 0:
		return "device"
	case mode.IsDir():
		return "folder"
	}
	return "special file"
}
