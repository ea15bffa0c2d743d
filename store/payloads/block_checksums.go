package payloads

import (
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"
)

// checkedBlock is how much is read and checked for a read that does not go from the beginning to the end, in bytes.
const checkedBlock = 64 << 10

// mostChecks is how many blocks of payloads have their checks in memory: 16 GiB of payloads in 1 MiB.
const mostChecks = 256 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checks remembers the CRC-32C of each block of payloads that were read whole and had the right SHA-256. So a part of a large
// payload costs its blocks, not the whole file each time, and what is altered later is still found.
type checks struct {
	turns digestLocks // for one digest, one reader at a time reads the file

	mu     sync.Mutex
	blocks map[string][]uint32
	count  int // blocks
}

func (c *checks) get(digest string) []uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks[digest]
}

// put makes room by forgetting any others.
func (c *checks) put(digest string, blocks []uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, list := range c.blocks {
		if c.count+len(blocks) <= mostChecks {
			break
		}
		c.count -= len(list)
		delete(c.blocks, other)
	}
	if c.count+len(blocks) > mostChecks || c.blocks[digest] != nil {
		return
	}
	if c.blocks == nil {
		c.blocks = map[string][]uint32{}
	}
	c.blocks[digest] = blocks
	c.count += len(blocks)
}

// checksOf returns the checks of a payload. Where they are not known it reads the whole file.
func (f *Files) checksOf(digest string, file *os.File, size int64) ([]uint32, error) {
	defer f.checks.turns.lock(digest)()
	if blocks := f.checks.get(digest); blocks != nil {
		return blocks, nil
	}
	blocks := make([]uint32, 0, (size+checkedBlock-1)/checkedBlock)
	h, b := sha256.New(), make([]byte, checkedBlock)
	for r := io.NewSectionReader(file, 0, size); ; {
		n, err := io.ReadFull(r, b)
		if n > 0 {
			h.Write(b[:n])
			blocks = append(blocks, crc32.Checksum(b[:n], castagnoli))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, f.isDamaged(digest, err.Error())
		}
	}
	if err := f.compare(digest, h); err != nil {
		return nil, err
	}
	f.checks.put(digest, blocks)
	return blocks, nil
}
