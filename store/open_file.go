package store

import (
	"os"

	"ledge/store/osfile"
)

// openFile is a file that stays open between fsyncs: opening it takes longer than everything else but the fsync. The zero
// value has no file.
type openFile struct {
	file *os.File
	info os.FileInfo // which file it is
}

// sync fsyncs the file that path names now, and returns its size. The server may have created the file anew, or renamed another
// one to path, since the last call; an fsync of the old file would then promise nothing.
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

// syncFile opens and fsyncs one file, and returns its size.
func syncFile(path string) (int64, error) {
	var k openFile
	defer k.close()
	return k.sync(path)
}
