package store

import "os"

// kept is a file that stays open from one sync to the next: to open it each time takes longer than all else but the fsync.
// The zero kept has none.
type kept struct {
	file *os.File
	info os.FileInfo // which file it is
}

// sync syncs what is at path at this moment and returns its size, as syncFile does. The server may have made the file anew
// since the last time, or renamed another one to path, and an fsync of the old one would promise nothing.
func (k *kept) sync(path string) (size int64, err error) {
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

func (k *kept) open(path string) (err error) {
	k.close()
	if k.file, err = OpenFile(path, os.O_RDWR, 0); err != nil { // Windows syncs only what may be written
		return err
	}
	if k.info, err = k.file.Stat(); err != nil {
		k.close()
	}
	return err
}

func (k *kept) close() {
	if k.file != nil {
		k.file.Close()
	}
	*k = kept{}
}

// syncFile syncs one file and returns its size.
func syncFile(path string) (int64, error) {
	var k kept
	defer k.close()
	return k.sync(path)
}
