package transparency

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sort"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"ledge/store/osfile"
)

// The file of kept hashes begins with a mark of [markBytes], the SHA-256 of its format and of the node's id. Entries follow, each with a
// hash and a CRC-32C in big-endian, over the mark, the entry's number and the hash. The hash of 256 leaves is an entry. Behind every 256th
// one comes their own hash, at level 2, and so on. So the file only grows at its end, and the place of a hash follows from its number.
const (
	format     = "ledge.tree/1"
	markBytes  = sha256.Size
	entryBytes = tlog.HashSize + 4
)

// fanOut is the number of hashes in a full tile, and height the levels of the Merkle tree in it.
const (
	fanOut = 256
	height = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// storage holds the file of kept hashes: a file, or memory.
type storage interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	io.Closer
}

// kept has the hashes of levels 1 and above. Nothing rests on the file: an entry that does not match its checksum is made again.
type kept struct {
	mark [markBytes]byte

	mu     sync.RWMutex
	file   storage
	groups int64 // of 256 leaves that have their hash
}

// errDamaged says that an entry does not match its checksum, or is missing.
var errDamaged = errors.New("the kept hashes of the tree are damaged")

func markOf(node string) [markBytes]byte { return sha256.Sum256([]byte(format + " " + node)) }

// openKept opens the file at path, or makes it. A file of another node or of another format is emptied.
func openKept(path, node string) (*kept, error) {
	f, err := osfile.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("hashes of the tree: %w", err)
	}
	k := &kept{file: f, mark: markOf(node)}
	if err := k.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("hashes of the tree: %w", err), f.Close())
	}
	return k, nil
}

// loadKept returns the hashes of the file at path in memory, without hashes if the file does not exist. It changes nothing on the disk.
func loadKept(path, node string) (*kept, error) {
	text, err := osfile.Read(path, mostKeptBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("hashes of the tree: %w", err)
	}
	k := &kept{file: &memory{text}, mark: markOf(node)}
	return k, k.load()
}

// mostKeptBytes bounds the file in memory, in bytes: the hashes of 7,000 million events.
const mostKeptBytes = 1 << 30

// load counts the whole entries at the beginning, and cuts off the rest.
func (k *kept) load() error {
	var mark [markBytes]byte
	if _, err := k.file.ReadAt(mark[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if mark != k.mark {
		return k.clear()
	}
	var of checker
	chunk := make([]byte, entryBytes<<12)
	for number := int64(0); ; {
		n, err := k.file.ReadAt(chunk, offsetOf(number))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		whole := int64(0)
		for ; int(whole+1)*entryBytes <= n; whole++ {
			entry := chunk[whole*entryBytes:][:entryBytes]
			if !k.isWhole(number+whole, entry) || !of.follows(tlog.Hash(entry[:tlog.HashSize])) {
				break
			}
		}
		if number += whole; int(whole)*entryBytes < len(chunk) {
			return k.cut(number)
		}
	}
}

// checker compares each hash above level 1 with the 256 hashes below it.
type checker struct{ levels [][]byte }

// follows takes the next hash of the file, and reports whether it is possible.
func (c *checker) follows(h tlog.Hash) bool {
	for i := range c.levels {
		if below := c.levels[i]; len(below) == fanOut*tlog.HashSize {
			c.levels[i] = below[:0]
			c.add(i+1, h)
			return treeHash(below) == h
		}
	}
	c.add(0, h)
	return true
}

func (c *checker) add(level int, h tlog.Hash) {
	if level == len(c.levels) {
		c.levels = append(c.levels, nil)
	}
	c.levels[level] = append(c.levels[level], h[:]...)
}

// clear empties the file but for its mark.
func (k *kept) clear() error {
	if err := k.file.Truncate(0); err != nil {
		return err
	}
	k.groups = 0
	_, err := k.file.WriteAt(k.mark[:], 0)
	return err
}

// cut leaves the groups whose hashes are among the first entries, with all that stands above them.
func (k *kept) cut(entries int64) error {
	k.groups = groupsIn(entries)
	return k.file.Truncate(offsetOf(entriesOf(k.groups)))
}

// repair cuts the file before the first entry that is not whole.
func (k *kept) repair() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.load()
}

// forget drops all hashes.
func (k *kept) forget() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.clear()
}

func offsetOf(number int64) int64 { return markBytes + number*entryBytes }

// entriesOf returns the number of entries for some groups.
func entriesOf(groups int64) (n int64) {
	for ; groups > 0; groups >>= height {
		n += groups
	}
	return n
}

// groupsIn returns the most groups whose entries are among the first entries.
func groupsIn(entries int64) int64 {
	return int64(sort.Search(int(entries), func(groups int) bool { return entriesOf(int64(groups)+1) > entries }))
}

// numberOf returns the number of the entry for hash n of a level from 1 on.
func numberOf(level int, n int64) int64 {
	last := (n+1)<<(height*(level-1)) - 1 // the last group below it
	return entriesOf(last) + int64(level-1)
}

func (k *kept) checksum(number int64, hash []byte) uint32 {
	sum := crc32.Checksum(k.mark[:], castagnoli)
	sum = crc32.Update(sum, castagnoli, binary.BigEndian.AppendUint64(nil, uint64(number)))
	return crc32.Update(sum, castagnoli, hash)
}

func (k *kept) isWhole(number int64, entry []byte) bool {
	return binary.BigEndian.Uint32(entry[tlog.HashSize:]) == k.checksum(number, entry[:tlog.HashSize])
}

// count returns the number of groups that have their hash.
func (k *kept) count() int64 {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.groups
}

// read returns w hashes of a level from 1 on, from hash n on. The error is errDamaged for an entry that is not whole.
func (k *kept) read(level int, n int64, w int) ([]byte, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if (n+int64(w))<<(height*(level-1)) > k.groups {
		return nil, errDamaged
	}
	return k.hashes(level, n, w)
}

func (k *kept) hashes(level int, n int64, w int) ([]byte, error) {
	tile := make([]byte, 0, w*tlog.HashSize)
	entry := make([]byte, entryBytes)
	for i := range int64(w) {
		number := numberOf(level, n+i)
		if _, err := k.file.ReadAt(entry, offsetOf(number)); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("hashes of the tree: %w", err)
		} else if err != nil || !k.isWhole(number, entry) {
			return nil, errDamaged
		}
		tile = append(tile, entry[:tlog.HashSize]...)
	}
	return tile, nil
}

// add keeps the hash of the next group, and the hashes above it that are complete then.
func (k *kept) add(group tlog.Hash) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := k.entry(nil, entriesOf(k.groups), group)
	below := group
	for level, n := 1, k.groups; n%fanOut == fanOut-1; level, n = level+1, n>>height {
		tile, err := k.hashes(level, n-fanOut+1, fanOut-1)
		if err != nil {
			return err
		}
		below = treeHash(append(tile, below[:]...))
		text = k.entry(text, entriesOf(k.groups)+int64(level), below)
	}
	if _, err := k.file.WriteAt(text, offsetOf(entriesOf(k.groups))); err != nil {
		return fmt.Errorf("hashes of the tree: %w", err)
	}
	k.groups++
	return nil
}

func (k *kept) entry(text []byte, number int64, h tlog.Hash) []byte {
	return binary.BigEndian.AppendUint32(append(text, h[:]...), k.checksum(number, h[:]))
}

// treeHash returns the hash over a power of two of hashes.
func treeHash(hashes []byte) tlog.Hash {
	if len(hashes) == tlog.HashSize {
		return tlog.Hash(hashes)
	}
	half := len(hashes) / 2
	return tlog.NodeHash(treeHash(hashes[:half]), treeHash(hashes[half:]))
}

// memory is a storage beside the disk.
type memory struct{ text []byte }

func (m *memory) ReadAt(p []byte, at int64) (n int, err error) {
	if n = copy(p, m.text[min(at, int64(len(m.text))):]); n < len(p) {
		err = io.EOF
	}
	return n, err
}

// WriteAt writes from a place in the text or at its end.
func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	m.text = append(m.text[:at], p...)
	return len(p), nil
}

func (m *memory) Truncate(size int64) error {
	m.text = m.text[:size]
	return nil
}

func (m *memory) Close() error { return nil }
