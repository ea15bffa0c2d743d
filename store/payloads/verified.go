package payloads

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"

	"ledge/domain"
	"ledge/store/osfile"
)

// verified reads a payload and never gives its last bytes before the content has proved to be that of its digest. A read
// from the beginning hashes the payload on the way. A read from elsewhere first reads and hashes the whole file, once for
// all readers while its checks are remembered, and then checks each block that is read.
type verified struct {
	files  *Files
	digest string
	file   *os.File
	size   int64
	at     int64 // of the next Read

	hash   hash.Hash
	hashed int64 // bytes from the beginning

	blocks  []uint32 // the checks of all blocks, once somebody reads elsewhere
	block   []byte   // that at blockAt is in memory, nil for none
	blockAt int64
}

func (f *Files) open(digest string) (*verified, error) {
	file, err := osfile.Open(f.path(digest), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &verified{files: f, digest: digest, file: file, size: info.Size(), hash: sha256.New()}, nil
}

// Close implements io.Closer.
func (v *verified) Close() error { return v.file.Close() }

// Seek implements io.Seeker.
func (v *verified) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += v.at
	case io.SeekEnd:
		offset += v.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of a payload")
	}
	v.at = offset
	return offset, nil
}

// Read implements io.Reader.
func (v *verified) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if v.at >= v.size {
		return 0, io.EOF
	}
	if v.at == v.hashed && v.blocks == nil {
		n, err = v.readOn(p)
	} else {
		n, err = v.readBlock(p)
	}
	v.at += int64(n)
	return n, err
}

// readOn reads what comes next from the beginning.
func (v *verified) readOn(p []byte) (n int, err error) {
	p = p[:min(int64(len(p)), v.size-v.at)]
	if _, err := v.file.ReadAt(p, v.at); err != nil {
		return 0, v.unread(err)
	}
	v.hash.Write(p)
	v.hashed += int64(len(p))
	if v.hashed == v.size {
		if err := v.files.compare(v.digest, v.hash); err != nil {
			v.hashed = 0
			v.hash.Reset()
			return 0, err
		}
	}
	return len(p), nil
}

// readBlock reads what the block has that is at the position.
func (v *verified) readBlock(p []byte) (n int, err error) {
	if v.blocks == nil {
		if v.blocks, err = v.files.checksOf(v.digest, v.file, v.size); err != nil {
			return 0, err
		}
	}
	i := v.at / checkedBlock
	if v.block == nil || v.blockAt != i*checkedBlock {
		if err := v.load(i); err != nil {
			return 0, err
		}
	}
	return copy(p, v.block[v.at-v.blockAt:]), nil
}

func (v *verified) load(i int64) error {
	if v.block == nil {
		v.block = make([]byte, min(checkedBlock, v.size))
	}
	at := i * checkedBlock
	b := v.block[:min(checkedBlock, v.size-at)]
	_, err := v.file.ReadAt(b, at)
	if err != nil {
		v.block = nil
		return v.unread(err)
	}
	if i >= int64(len(v.blocks)) || crc32.Checksum(b, castagnoli) != v.blocks[i] {
		v.block = nil
		return v.files.isDamaged(v.digest, fmt.Sprintf("the block at byte %d is altered", at))
	}
	v.block, v.blockAt = b, at
	return nil
}

func (v *verified) unread(err error) error {
	if errors.Is(err, io.EOF) {
		return v.files.isDamaged(v.digest, "it has become shorter")
	}
	return v.files.isDamaged(v.digest, err.Error())
}

// compare compares a hash with a digest.
func (f *Files) compare(digest string, h hash.Hash) error {
	if sum := hex.EncodeToString(h.Sum(nil)); sum != digest {
		return f.isDamaged(digest, "its SHA-256 is "+sum)
	}
	return nil
}

// isDamaged counts a damaged payload and returns the error. The same body may come again: then the file is replaced.
func (f *Files) isDamaged(digest, why string) error {
	f.damaged.Add(1)
	f.forgetDurable(digest)
	return domain.Errorf(domain.Damaged, "the stored body %s is damaged: %s; restore the file from a backup, or post the same body again", f.path(digest), why)
}

// Damaged counts the reads that found a damaged payload, since Open.
func (f *Files) Damaged() uint64 { return f.damaged.Load() }
