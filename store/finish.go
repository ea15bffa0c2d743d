package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledge/store/natsblock"
	"ledge/store/osfile"
)

const (
	// tornFiles and tornBytes bound what is kept of torn ends, the newest; one that is larger by itself is kept alone.
	tornFiles = 16
	tornBytes = 256 << 20
)

// now is when a file is made; nothing is decided by it.
func now() time.Time { return time.Now().UTC() }

// finish does what a crash left undone. Each step may be the last one before the next crash: the next start does it again.
func (s *survey) finish(rewrite bool) error {
	l := s.log
	err := s.dropGone()
	if err == nil && s.torn != nil {
		err = s.cut()
	}
	if err == nil && rewrite {
		err = s.rewrite()
	}
	if err == nil {
		err = s.writeIndex()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

// dropGone removes the blocks before the recorded start.
func (s *survey) dropGone() error {
	b := s.log.blocks
	for _, n := range s.gone {
		if err := osfile.Remove(b.Path(n)); err != nil {
			return err
		}
	}
	if len(s.gone) == 0 {
		return nil
	}
	s.log.store.o.Logger.Info("removed what retention had given up before a crash", "stream", s.log.name, "blocks", len(s.gone), "start", s.start.First)
	return b.SyncFolder(b.Dir)
}

// cut sets the torn end aside and cuts it off.
func (s *survey) cut() error {
	l, t := s.log, s.torn
	b := l.blocks
	kept, err := s.keepTorn()
	if err != nil && !osfile.IsFull(err) {
		return fmt.Errorf("set the torn end of the log aside: %w", err)
	}
	l.store.o.Logger.Warn("the end of the log was torn by a crash and is cut off; nothing of it was acknowledged",
		"stream", l.name, "last", s.last, "block", t.block, "offset", t.at, "kept", kept, "error", err)
	for _, n := range slices.Backward(t.after) {
		if err := osfile.Remove(b.Path(n)); err != nil {
			return err
		}
	}
	at := len(s.blocks) - 1
	if t.at == 0 && at > 0 {
		s.blocks = s.blocks[:at]
		if err := osfile.Remove(b.Path(t.block)); err != nil {
			return err
		}
		return b.SyncFolder(b.Dir)
	}
	if err := os.Truncate(b.Path(t.block), t.at); err != nil {
		return err
	}
	s.blocks[at].size = t.at
	if _, err := b.SyncFile(b.Path(t.block)); err != nil {
		return err
	}
	return b.SyncFolder(b.Dir)
}

// keepTorn copies what is cut off, and forgets the oldest such copies.
func (s *survey) keepTorn() (dir string, err error) {
	l := s.log
	dir = filepath.Join(l.store.o.Dir, "torn")
	at := s.torn.at
	for _, n := range append([]uint32{s.torn.block}, s.torn.after...) {
		text, err := osfile.Read(l.blocks.Path(n), natsblock.MaxBlock)
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("%s-%d-%d-%d", l.name, n, at, now().Unix())
		if err := writeIn(filepath.Join(dir, name), text[at:]); err != nil {
			return "", err
		}
		at = 0
	}
	return dir, forgetTorn(dir)
}

func forgetTorn(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	slices.SortStableFunc(files, func(a, b os.DirEntry) int { return cmp.Compare(tornAt(b), tornAt(a)) })
	var sum int64
	for i, f := range files {
		if st, err := f.Info(); err == nil {
			sum += st.Size()
		}
		if i >= tornFiles || i > 0 && sum > tornBytes {
			if err := osfile.Remove(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return osfile.SyncDir(dir)
}

func tornAt(f os.DirEntry) int64 {
	n, _ := strconv.ParseInt(f.Name()[strings.LastIndexByte(f.Name(), '-')+1:], 10, 64)
	return n
}

// rewrite writes the last group again, with the same bytes, and syncs it. After an fsync that failed, or a crash before it,
// the page cache may have what the disk has not, and a new fsync would have nothing to do; so it has, and tells the truth.
// Where no group is marked, that is as much as a group may be.
func (s *survey) rewrite() error {
	b := s.log.blocks
	due, first := int64(mostGroup), len(s.blocks)
	for ; first > 0 && due > 0; first-- {
		k := s.blocks[first-1]
		due -= k.size
		if k.group >= 0 {
			due = 0
		}
	}
	for _, k := range s.blocks[first:] { // the older first, as when they were appended
		if err := rewriteFile(b.Path(k.Number), max(k.group, 0)); err != nil {
			return fmt.Errorf("the end of the log cannot be made durable: %w; it may be in memory only: check the disk, copy the data folder to another one, and start there", err)
		}
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

// writeIndex writes the server's index where it has another one than it must find, and Ledge's copy.
func (s *survey) writeIndex() error {
	l := s.log
	if len(s.blocks) == 0 {
		return osfile.Remove(l.indexPath()) // it would be of blocks that are not there
	}
	want := s.index()
	if s.own != nil && sameLog(s.own, want) {
		return nil
	}
	s.addSubjects(want)
	text := want.Encode(l.name)
	err := replace(l.indexPath(), text)
	if osfile.IsFull(err) {
		return l.withoutIndex()
	}
	if err != nil {
		return err
	}
	return l.keepIndex(text)
}

// withoutIndex removes the server's index, where a full disk has no room for the one that it must find. The server then reads
// all blocks, and would cut off or delete what it cannot read, so Ledge checks all of them before.
func (l *Log) withoutIndex() error {
	s, err := l.survey(nil, math.MaxInt64)
	if err != nil {
		return err
	}
	if s.torn != nil {
		return fmt.Errorf("the end of the log in %d.blk is still torn at byte %d; start again", s.torn.block, s.torn.at)
	}
	l.store.o.Logger.Warn("the disk is full: there is no room for the index of the log, so the server reads the whole log; free some space",
		"stream", l.name, "path", l.indexPath(), "events", s.events)
	return osfile.Remove(l.indexPath())
}

// sameLog reports whether two indexes are of the same events in the same blocks.
func sameLog(a, b *natsblock.Index) bool {
	return a.Messages == b.Messages && a.Bytes == b.Bytes && a.First == b.First && a.Last == b.Last &&
		a.LastBlock == b.LastBlock && a.Checksum == b.Checksum && slices.Equal(a.Blocks, b.Blocks)
}

// mostIndex is the largest index of which a copy is kept.
const mostIndex = 64 << 20

// keepIndex keeps a copy of an index. Without one, a start after a power cut reads all blocks; so a full disk is no error.
func (l *Log) keepIndex(text []byte) error {
	if len(text) > mostIndex {
		return osfile.Remove(l.copyPath())
	}
	if err := writeIn(l.copyPath(), text); err != nil && !osfile.IsFull(err) {
		return err
	}
	return nil
}
