package natsblock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"ledge/store/osfile"
)

// ErrLayout says that acknowledged bytes are not where this version of the server is known to write them, so that an fsync of that file
// would promise nothing.
var ErrLayout = errors.New("the server's block files are not where they are known to be")

// SyncTail syncs the last few blocks and the folder, and takes note of where the stream ends. After a crash the tail may hold what was
// written but never synced: nothing may be built on it before. No file stays open.
func (f *Files) SyncTail() error {
	defer f.tail.close()
	all, err := f.List()
	if err != nil || len(all) == 0 {
		f.last, f.size = 0, 0
		return err
	}
	const few = 6 // more than one group can fill
	for _, n := range all[max(0, len(all)-few):] {
		if f.size, err = f.SyncFile(f.Path(n)); err != nil {
			return err
		}
		f.last = n
	}
	return f.SyncFolder(f.Dir)
}

// SyncGroup makes a group of messages durable: the last block; if the group went on into new ones, those before first; and then the folder.
// The error is ErrLayout if the files did not grow by at least atLeast bytes, or if the last one is gone. Fsync acts on the inode, whoever wrote to it.
func (f *Files) SyncGroup(atLeast int64) error {
	if f.last == 0 {
		all, err := f.List()
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return ErrLayout
		}
		f.last, f.size = all[0], 0
	}
	var grew int64
	crossed, removed := f.size == 0, false
	for {
		size, err := f.SyncFile(f.Path(f.last))
		gone := errors.Is(err, fs.ErrNotExist)
		if gone { // retention removed it meanwhile: what it held of this group is not known
			size, err, removed = f.size, nil, true
		}
		if err != nil {
			return err
		}
		grew += size - f.size
		f.size = size
		next, err := f.next(removed)
		if err != nil {
			return err
		}
		if next == 0 && gone { // by another hand: retention leaves the block in which a group ends
			return fmt.Errorf("%w: %s is gone", ErrLayout, f.Path(f.last))
		}
		if next == 0 {
			break
		}
		f.last, f.size, crossed = next, 0, true
	}
	if grew < atLeast && !removed {
		return fmt.Errorf("%w: %s grew by %d bytes where %d were written", ErrLayout, f.Path(f.last), grew, atLeast)
	}
	if crossed {
		return f.SyncFolder(f.Dir)
	}
	return nil
}

// LastBlock returns the last block of which SyncGroup and SyncTail know.
func (f *Files) LastBlock() uint32 { return f.last }

// next returns the block after the last that is known, or 0. Only if retention has removed some, numbers may be missing.
func (f *Files) next(removed bool) (uint32, error) {
	if f.Has(f.last + 1) {
		return f.last + 1, nil
	}
	if !removed {
		return 0, nil
	}
	all, err := f.List()
	for _, n := range all {
		if n > f.last {
			return n, err
		}
	}
	return 0, err
}

// SyncFile opens and fsyncs one file, and returns its size.
func SyncFile(path string) (int64, error) {
	var k openFile
	defer k.close()
	return k.sync(path)
}

// keepsOpen is whether a file may stay open that the server renames or removes. Windows lets nobody do that to an open file.
const keepsOpen = runtime.GOOS != "windows"

// openFile is a file that stays open between fsyncs: opening it takes longer than everything else but the fsync. The zero value has no file.
type openFile struct {
	file *os.File
	info os.FileInfo // which file it is
}

// sync fsyncs the file that path names now, and returns its size. The server may have created the file anew, or renamed another one to path,
// since the last call; an fsync of the old file would then promise nothing.
func (k *openFile) sync(path string) (size int64, err error) {
	st, err := os.Stat(path)
	if err != nil {
		k.close()
		return 0, err
	}
	if !os.SameFile(st, k.info) {
		if err := k.open(path); err != nil {
			return 0, err
		}
		st = k.info
	}
	if !keepsOpen {
		defer k.close()
	}
	return st.Size(), k.file.Sync()
}

func (k *openFile) open(path string) (err error) {
	k.close()
	if k.file, err = osfile.Open(path, os.O_RDWR, 0); err != nil { // Windows syncs only what may be written
		return err
	}
	if k.info, err = k.file.Stat(); err != nil {
		k.close()
	}
	return err
}

func (k *openFile) close() {
	if k.file != nil {
		k.file.Close()
	}
	*k = openFile{}
}
