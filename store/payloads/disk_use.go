package payloads

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Use is the number and the bytes of the payload files.
type Use struct{ Count, Bytes int64 }

func (u *Use) add(before, after int64) {
	if before > 0 {
		u.Count, u.Bytes = u.Count-1, u.Bytes-before
	}
	if after > 0 {
		u.Count, u.Bytes = u.Count+1, u.Bytes+after
	}
}

// use counts payload files. The first call of Files.Use reads the folder; after that, changes are counted.
type use struct {
	reading sync.Mutex // held while the folder is read

	mu      sync.Mutex
	known   bool
	total   Use
	changed map[string]int64 // size by digest, 0 for none, of what changed while the folder is read; nil when it is not
}

// change notes that a file had some bytes and now has others; 0 means that there is no file.
func (u *use) change(digest string, before, after int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.changed != nil {
		u.changed[digest] = after
	}
	if u.known {
		u.total.add(before, after)
	}
}

// Use returns the number and the bytes of the payload files. It reads the folder the first time.
func (f *Files) Use() (Use, error) {
	f.use.mu.Lock()
	known, total := f.use.known, f.use.total
	f.use.mu.Unlock()
	if known {
		return total, nil
	}
	return f.Recount()
}

// Bytes returns the size of all files in the folder, unfinished ones too. It is 0 until the folder can be read.
func (f *Files) Bytes() int64 {
	use, _ := f.Use()
	return use.Bytes + f.incoming.Load()
}

// Recount reads the folder again, and so notices files that were removed by others.
func (f *Files) Recount() (Use, error) {
	u := &f.use
	u.reading.Lock()
	defer u.reading.Unlock()
	u.mu.Lock()
	u.changed = map[string]int64{}
	u.mu.Unlock()
	sizes, err := f.sizes()
	u.mu.Lock()
	defer u.mu.Unlock()
	for digest, size := range u.changed {
		sizes[digest] = size
	}
	u.changed = nil
	if err != nil {
		return Use{}, fmt.Errorf("payload folder: %w", err)
	}
	u.known, u.total = true, Use{}
	for _, size := range sizes {
		u.total.add(0, size)
	}
	return u.total, nil
}

// sizes returns the size of each payload file. It takes some 150 bytes of memory for each.
func (f *Files) sizes() (map[string]int64, error) {
	sizes := map[string]int64{}
	for names, err := range Names(f.dir) {
		if err != nil {
			return sizes, err
		}
		for _, name := range names {
			if !isDigest(name) {
				continue
			}
			info, err := os.Lstat(f.path(name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return sizes, err
			}
			if err == nil && info.Mode().IsRegular() {
				sizes[name] = info.Size()
			}
		}
	}
	return sizes, nil
}
