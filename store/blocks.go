package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"ledge/store/osfile"
)

// errLayout says that acknowledged bytes are not where this version of the server is known to write them, so that an
// fsync of that file would promise nothing.
var errLayout = errors.New("the server's block files are not where they are known to be")

// blocks are the files in which the server keeps a stream: msgs/1.blk, msgs/2.blk and so on, written with pwrite before
// each acknowledgement. Fsync acts on the inode, whoever opened it: so one fsync by us makes a whole group durable.
type blocks struct {
	dir    string
	stream string
	last   uint32
	size   int64    // of the last block, when it was synced
	tail   openFile // the last block, open from its first group to the first of the next block

	// file and folder are how to sync: tail.sync and osfile.SyncDir, but for tests.
	file   func(path string) (size int64, err error)
	folder func(path string) error
}

func newBlocks(streamDir string) *blocks {
	b := &blocks{dir: filepath.Join(streamDir, "msgs"), stream: filepath.Base(streamDir), folder: osfile.SyncDir}
	b.file = b.tail.sync
	return b
}

func (b *blocks) path(n uint32) string {
	return b.dir + string(filepath.Separator) + strconv.FormatUint(uint64(n), 10) + ".blk"
}

// sector is how much of a file is given up where the disk cannot read it.
const sector = 4 << 10

// unread says which sectors of a file the disk could not read, in ascending order, and the last error.
type unread struct {
	sectors []int // where each begins
	err     error
}

// in returns the error if one of the sectors has bytes between two offsets.
func (u unread) in(from, to int) error {
	for _, at := range u.sectors {
		if at < to && at+sector > from {
			return u.err
		}
	}
	return nil
}

// readOn reads the beginning of a file into b, which is not longer than the file, and goes on behind each sector that cannot be read. It
// leaves zeros there.
func readOn(r io.ReaderAt, b []byte) (n int, bad unread) {
	for n < len(b) {
		got, err := r.ReadAt(b[n:], int64(n))
		if n += got; err == nil || errors.Is(err, io.EOF) {
			break
		}
		at := n / sector * sector
		bad.sectors, bad.err = append(bad.sectors, at), err
		end := min(at+sector, len(b))
		clear(b[n:end])
		n = end
	}
	return n, bad
}

// load reads a block into buf, or into a larger buffer, up to mostBlock bytes of it, and returns the size of the file.
func (b *blocks) load(n uint32, buf []byte) (text []byte, size int64, bad unread, err error) {
	f, err := osfile.Open(b.path(n), os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, bad, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, 0, bad, err
	}
	most := int(min(st.Size(), mostBlock))
	if cap(buf) < most {
		buf = make([]byte, most)
	}
	got, bad := readOn(f, buf[:most])
	return buf[:got], st.Size(), bad, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// list returns the numbers of the blocks, ascending; none where the folder does not exist.
func (b *blocks) list() ([]uint32, error) {
	files, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []uint32
	for _, f := range files {
		var n uint32
		if _, err := fmt.Sscanf(f.Name(), "%d.blk", &n); err == nil && f.Name() == fmt.Sprintf("%d.blk", n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// bytes returns the size of all blocks together.
func (b *blocks) bytes() (int64, error) {
	all, err := b.list()
	var sum int64
	for _, n := range all {
		if st, err := os.Stat(b.path(n)); err == nil {
			sum += st.Size()
		}
	}
	return sum, err
}

// syncTail syncs the last few blocks and the folder, and takes note of where the stream ends. After a crash the tail may
// hold what was written but never synced: nothing may be built on it before. No file stays open.
func (b *blocks) syncTail() error {
	defer b.tail.close()
	all, err := b.list()
	if err != nil || len(all) == 0 {
		b.last, b.size = 0, 0
		return err
	}
	const few = 6 // more than one group can fill
	for _, n := range all[max(0, len(all)-few):] {
		if b.size, err = b.file(b.path(n)); err != nil {
			return err
		}
		b.last = n
	}
	return b.folder(b.dir)
}

// sync makes a group durable: the last block; where the group went on into new ones, those before first; and then the
// folder. It is errLayout where the files did not grow by at least grown bytes.
func (b *blocks) sync(grown int64) error {
	if b.last == 0 {
		all, err := b.list()
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return errLayout
		}
		b.last, b.size = all[0], 0
	}
	var grew int64
	crossed, removed := b.size == 0, false
	for {
		size, err := b.file(b.path(b.last))
		if errors.Is(err, fs.ErrNotExist) { // retention removed it while we looked: what it held of this group is not known
			size, err, removed = b.size, nil, true
		}
		if err != nil {
			return err
		}
		grew += size - b.size
		b.size = size
		next, err := b.next(removed)
		if err != nil {
			return err
		}
		if next == 0 {
			break
		}
		b.last, b.size, crossed = next, 0, true
	}
	if grew < grown && !removed {
		return fmt.Errorf("%w: %s grew by %d bytes where %d were written", errLayout, b.path(b.last), grew, grown)
	}
	if crossed {
		return b.folder(b.dir)
	}
	return nil
}

// next returns the block after the last that is known, 0 where there is none. Only where retention has removed some may
// numbers be missing.
func (b *blocks) next(removed bool) (uint32, error) {
	if exists(b.path(b.last + 1)) {
		return b.last + 1, nil
	}
	if !removed {
		return 0, nil
	}
	all, err := b.list()
	for _, n := range all {
		if n > b.last {
			return n, err
		}
	}
	return 0, err
}

// syncTree syncs every file and folder below dir, and the folders above it up to root's own parent.
func syncTree(root, dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a temporary file that is gone again
		case err != nil:
			return err
		case d.IsDir():
			return osfile.SyncDir(path)
		}
		if _, err := syncFile(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return syncUp(root, dir)
}

// syncUp syncs a folder and those above it up to root's own parent.
func syncUp(root, dir string) error {
	if err := osfile.SyncDir(dir); err != nil {
		return err
	}
	for dir != filepath.Dir(root) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if err := osfile.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
