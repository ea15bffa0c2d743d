package natsblock

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ledge/store/osfile"
)

// ErrNoRecord says that a block does not begin with a whole record.
var ErrNoRecord = errors.New("the block does not begin with a whole record")

// Files are the block files in which the server keeps one stream. It writes to the last one, with pwrite before each acknowledgement.
type Files struct {
	Dir    string
	Stream string

	// SyncFile and SyncFolder make a file, of which the first returns the size, and the folder durable. Tests replace them.
	SyncFile   func(path string) (size int64, err error)
	SyncFolder func(path string) error

	// Of SyncGroup and SyncTail.
	last uint32   // the last block
	size int64    // its size when it was synced
	tail openFile // the last block, open from its first group to the first of the next block
}

// FilesOf returns the block files of a stream, which has its name from its folder.
func FilesOf(streamDir string) *Files {
	f := &Files{Dir: filepath.Join(streamDir, "msgs"), Stream: filepath.Base(streamDir), SyncFolder: osfile.SyncDir}
	f.SyncFile = f.tail.sync
	return f
}

// Path returns the path of a block.
func (f *Files) Path(n uint32) string { return f.path(n) + ".blk" }

// keyPath returns the path of the key of an encrypted block.
func (f *Files) keyPath(n uint32) string { return f.path(n) + ".key" }

func (f *Files) path(n uint32) string {
	return f.Dir + string(filepath.Separator) + strconv.FormatUint(uint64(n), 10)
}

// Has reports whether there is a block.
func (f *Files) Has(n uint32) bool { return exists(f.Path(n)) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// List returns the numbers of the blocks, ascending; none if the folder does not exist.
func (f *Files) List() ([]uint32, error) {
	files, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []uint32
	for _, file := range files {
		digits, ok := strings.CutSuffix(file.Name(), ".blk")
		n, err := strconv.ParseUint(digits, 10, 32)
		if ok && err == nil && digits == strconv.FormatUint(n, 10) {
			all = append(all, uint32(n))
		}
	}
	slices.Sort(all)
	return all, nil
}

// Bytes returns the size of all blocks together.
func (f *Files) Bytes() (int64, error) {
	all, err := f.List()
	var sum int64
	for _, n := range all {
		sum += f.Size(n)
	}
	return sum, err
}

// Size returns the size of a block, in bytes; 0 if there is none.
func (f *Files) Size(n uint32) int64 {
	st, err := os.Stat(f.Path(n))
	if err != nil {
		return 0
	}
	return st.Size()
}

// firstChunk is how many bytes [Files.First] reads at first.
const firstChunk = 4 << 10

// First returns the first record of a block. The error is io.EOF if there is none, as the server has just made the block, and ErrNoRecord if
// it is not all there or not as it was written.
func (f *Files) First(n uint32) (Record, error) {
	for r, err := range (&Scan{Files: f, Block: n, Chunk: firstChunk, Keep: true}).Records() {
		if _, bad := errors.AsType[*Bad](err); bad {
			return r, ErrNoRecord
		}
		return r, err
	}
	return Record{}, io.EOF
}

// longestFirst bounds the first record that [Files.Origin] looks at, in bytes.
const longestFirst = 1 << 20

// Origin returns under which number, up to the highest, the records in the file of a block were written. That is another one if the file was renamed
// or copied. It is the block's own number if that is not known, or if the first record is not whole.
func (f *Files) Origin(n, highest uint32) uint32 {
	file, err := osfile.Open(f.Path(n), os.O_RDONLY, 0)
	if err != nil {
		return n
	}
	defer file.Close()
	head := make([]byte, headBytes)
	if _, err := file.ReadAt(head, 0); err != nil || length(head) == 0 || length(head) > longestFirst {
		return n
	}
	first := make([]byte, length(head))
	if _, err := file.ReadAt(first, 0); err != nil {
		return n
	}
	if _, ok := ChecksumOf(f.Stream, n).Whole(first); ok {
		return n
	}
	for k := uint32(1); k <= highest; k++ {
		if _, ok := ChecksumOf(f.Stream, k).Whole(first); ok {
			return k
		}
	}
	return n
}

// foreign reports whether a block is compressed or encrypted, as [ErrForeign] says.
func (f *Files) foreign(block io.ReaderAt, n uint32) bool {
	mark := []byte("cmp\x01")
	start := make([]byte, len(mark))
	_, err := block.ReadAt(start, 0)
	return err == nil && bytes.Equal(start, mark) || exists(f.keyPath(n))
}

// LastSum returns the checksum of the last record of a block that is whole, zeros if it has none.
func (f *Files) LastSum(n uint32) (sum [8]byte, err error) {
	file, err := osfile.Open(f.Path(n), os.O_RDONLY, 0)
	if err != nil {
		return sum, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err == nil && st.Size() > 0 {
		_, err = file.ReadAt(sum[:], st.Size()-sumBytes)
	}
	return sum, err
}
