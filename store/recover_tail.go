package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ledge/store/natsblock"
	"ledge/store/osfile"
)

// copyFolder is where a block file is copied to, beside the folder of the blocks: the server takes each name there that begins like that of a
// block for a block.
const copyFolder = "copy"

// renewTail replaces the block files of the last group by copies, durably. After a write or an fsync that failed, the page cache may have what the
// disk has not, also after the same bytes were written again in place and synced: ext4 keeps an extent "unwritten" if its first write failed, and
// then reads it as zeros. Only a new file is sure to have its own bytes. If no group is marked, as much is copied as a group may have.
func (r *recovery) renewTail() error {
	b := r.log.blocks
	copied := &natsblock.Files{Dir: filepath.Join(filepath.Dir(b.Dir), copyFolder), Stream: b.Stream}
	if err := os.RemoveAll(copied.Dir); err != nil { // of a crash
		return err
	}
	if r.clean {
		return nil
	}
	due, first := int64(mostGroup), len(r.blocks)
	for ; first > r.scanned && due > 0; first-- {
		k := r.blocks[first-1]
		due -= k.size
		if k.group >= 0 {
			due = 0
		}
	}
	for _, k := range r.blocks[first:] { // the older first, as when they were appended
		err := r.renew(k, copied)
		if osfile.IsFull(err) {
			err = r.rewrite(k, err)
		}
		if err != nil {
			return fmt.Errorf("the end of the log cannot be made durable: %w; it may be in memory only: check the disk, copy the data folder to another one, and start there", err)
		}
	}
	return nil
}

// renew replaces a block file by a copy of it, which is read before it gets the name.
func (r *recovery) renew(k recovered, copied *natsblock.Files) (err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(copied.Dir)) }()
	if err := os.Mkdir(copied.Dir, 0o700); err != nil {
		return err
	}
	path := r.log.blocks.Path(k.Number)
	f, err := copyBytes(path, copied.Path(k.Number))
	if f == nil {
		return err
	}
	if err == nil {
		err = r.sameRecords(k, copied)
	}
	return osfile.Publish(f, path, err)
}

// sameRecords checks that the copy of a block file has the records that were read from the file before. Memory may have dropped meanwhile what the
// disk never had.
func (r *recovery) sameRecords(k recovered, copied *natsblock.Files) error {
	last, size := uint64(0), int64(0)
	for e, err := range (&natsblock.Scan{Files: copied, Block: k.Number, Prefix: r.log.public, Chunk: readChunk}).Records() {
		if err != nil {
			return err
		}
		if size = e.End(); e.IsMessage() {
			last = e.Seq()
		}
	}
	if last != k.Last || size != k.size {
		return fmt.Errorf("%s has %d bytes up to sequence %d, and had %d up to %d", copied.Path(k.Number), size, last, k.size, k.Last)
	}
	return nil
}

// copyBytes copies a file to a new one, which stays open, by way of this process. io.Copy has the system copy, which may share what the disk has of
// the file in place of what the page cache has. The file is nil if it could not be made.
func copyBytes(from, to string) (target *os.File, err error) {
	source, err := osfile.Open(from, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	st, err := source.Stat()
	if err != nil {
		return nil, err
	}
	if target, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm()); err != nil {
		return nil, err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{target}, struct{ io.Reader }{source}, make([]byte, readChunk))
	return target, err
}

// rewrite writes the last group of a block file again in place, with the same bytes, and syncs it: the disk is full, and has no room for a copy.
// That makes clean pages dirty, so that the fsync tests the disk. What the disk then has is compared, as far as the file system can read past the
// page cache.
func (r *recovery) rewrite(k recovered, full error) error {
	path, from := r.log.blocks.Path(k.Number), max(k.group, 0)
	if err := rewriteFile(path, from); err != nil {
		return err
	}
	if err := osfile.OnDisk(path, from); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%w; a copy of the file needs %d bytes: %w; free some space", err, k.size, full)
	}
	return nil
}

// rewriteFile writes what a file has from an offset on again, and syncs it.
func rewriteFile(path string, from int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, readChunk)
	for {
		n, err := f.ReadAt(buf, from)
		if _, err := f.WriteAt(buf[:n], from); err != nil {
			return err
		}
		from += int64(n)
		if errors.Is(err, io.EOF) {
			return f.Sync()
		}
		if err != nil {
			return err
		}
	}
}
