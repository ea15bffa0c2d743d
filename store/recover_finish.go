package store

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledge/store/natsblock"
	"ledge/store/osfile"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// tornFiles and tornBytes bound what is kept of torn ends, the newest; one that is larger by itself is kept alone.
	tornFiles = 16
	tornBytes = 256 << 20
)

// dropGone removes the blocks before the recorded start.
func (r *recovery) dropGone() error {
	if start, _ := r.log.manifest.start(); len(r.gone) > 0 {
		r.log.store.o.Logger.Info("removed what retention had given up before a crash", "stream", r.log.name, "blocks", len(r.gone), "start", start.First)
	}
	return r.remove(r.gone...)
}

// remove removes blocks durably.
func (r *recovery) remove(blocks ...uint32) error {
	if len(blocks) == 0 {
		return nil
	}
	b := r.log.blocks
	for _, n := range blocks {
		if err := osfile.Remove(b.Path(n)); err != nil {
			return err
		}
	}
	return b.SyncFolder(b.Dir)
}

// cut sets the torn end aside and cuts it off, the last block first.
func (r *recovery) cut() error {
	l, t := r.log, r.torn
	if t == nil {
		return nil
	}
	kept, err := r.keepTorn()
	if err != nil && !osfile.IsFull(err) {
		return fmt.Errorf("set the torn end of the log aside: %w", err)
	}
	l.store.o.Logger.Warn("the end of the log was torn by a crash and is cut off; nothing of it was acknowledged",
		"stream", l.name, "last", r.last, "block", t.Block, "offset", t.Offset, "kept", kept, "error", err)
	slices.Reverse(r.after)
	at := len(r.blocks) - 1
	if t.Offset == 0 && at > 0 {
		r.blocks = r.blocks[:at]
		return r.remove(append(r.after, t.Block)...)
	}
	r.blocks[at].size = t.Offset
	if err := r.remove(r.after...); err != nil {
		return err
	}
	if err := os.Truncate(l.blocks.Path(t.Block), t.Offset); err != nil {
		return err
	}
	_, err = l.blocks.SyncFile(l.blocks.Path(t.Block))
	return err
}

// keepTorn copies what is cut off, and forgets the oldest such copies.
func (r *recovery) keepTorn() (dir string, err error) {
	l := r.log
	dir = filepath.Join(l.store.o.Dir, "torn")
	at := r.torn.Offset
	for _, n := range append([]uint32{r.torn.Block}, r.after...) {
		text, err := osfile.Read(l.blocks.Path(n), natsblock.MaxBlock)
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("%s-%d-%d-%d", l.name, n, at, time.Now().Unix())
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

// serverIndex returns the index that the server has written, or nil.
func serverIndex(l *Log) *natsblock.Index {
	text, err := os.ReadFile(indexPath(l))
	if err != nil {
		return nil
	}
	x, err := natsblock.Decode(l.name, text)
	if err != nil {
		l.store.o.Logger.Warn("the index of the log is not used", "path", indexPath(l), "error", err)
		return nil
	}
	return x
}

func indexPath(l *Log) string { return filepath.Join(l.blocks.Dir, "index.db") }

// writeIndex writes the server's index if it has another one than it must find.
func (r *recovery) writeIndex() error {
	l := r.log
	if len(r.blocks) == 0 {
		return osfile.Remove(indexPath(l)) // it would be of blocks that are not there
	}
	want, err := r.index()
	if err != nil {
		return err
	}
	if own := serverIndex(l); own != nil && sameLog(own, want) {
		return nil
	}
	err = replace(indexPath(l), want.Encode(l.name))
	if osfile.IsFull(err) {
		return withoutIndex(l)
	}
	return err
}

// index returns what the server has to find. Nothing rests on the subjects, which the server takes for hints: all events are counted under the
// subject of today, and those of earlier versions have others. Nor does anything rest on the times.
func (r *recovery) index() (x *natsblock.Index, err error) {
	x = &natsblock.Index{Messages: r.events, First: r.first, Last: r.last}
	if r.last == 0 {
		x.First = 0
	}
	stored := natsblock.Subject{Name: r.log.public + storedToken, Total: r.events}
	for i, k := range r.blocks {
		b := k.Block
		if b.Last == 0 { // empty
			b.First, b.Last, b.FirstTime, b.LastTime = r.last+1, r.last, x.LastTime, x.LastTime
		} else {
			stored.First, stored.Last = cmp.Or(stored.First, k.Number), k.Number
		}
		if i == 0 {
			x.FirstTime = b.FirstTime
		}
		x.Bytes, x.LastTime, x.LastBlock = x.Bytes+b.Bytes, b.LastTime, k.Number
		x.Blocks = append(x.Blocks, b)
	}
	if stored.Total > 0 {
		x.Subjects = append(x.Subjects, stored)
	}
	x.Checksum, err = r.log.blocks.LastSum(x.LastBlock)
	return x, err
}

// withoutIndex removes the server's index, if a full disk has no room for the one that it must find. The server then reads
// all blocks, and would cut off or delete what it cannot read, so Ledge checks all of them before.
func withoutIndex(l *Log) error {
	r, err := inspectFiles(context.Background(), l, nil, true)
	if err != nil {
		return err
	}
	if r.torn != nil {
		return fmt.Errorf("the end of the log in %d.blk is still torn at byte %d; start again", r.torn.Block, r.torn.Offset)
	}
	l.store.o.Logger.Warn("the disk is full: there is no room for the index of the log, so the server reads the whole log; free some space",
		"stream", l.name, "path", indexPath(l), "events", r.events)
	return osfile.Remove(indexPath(l))
}

// sameLog reports whether two indexes are of the same events in the same blocks.
func sameLog(a, b *natsblock.Index) bool {
	same := func(a, b natsblock.Block) bool {
		return a.Number == b.Number && a.Bytes == b.Bytes && a.First == b.First && a.Last == b.Last
	}
	return a.Messages == b.Messages && a.Bytes == b.Bytes && a.First == b.First && a.Last == b.Last &&
		a.LastBlock == b.LastBlock && a.Checksum == b.Checksum && slices.EqualFunc(a.Blocks, b.Blocks, same)
}

// describe writes meta.inf and meta.sum where they are not what Ledge wants, or do not match. The server is never asked to
// create a stream or to change one: it writes the two without fsync, one after the other.
func (r *recovery) describe() error {
	l := r.log
	dir := streamDir(l.store.o.Dir, l.name)
	want := streamConfig(l.stream)
	inf, _ := os.ReadFile(filepath.Join(dir, server.JetStreamMetaFile))
	sum, _ := os.ReadFile(filepath.Join(dir, server.JetStreamMetaFileSum))
	have, created, err := natsblock.DecodeMeta(l.name, inf, sum)
	if err == nil && have.Name == l.name && asked(have, want) {
		return nil
	}
	if restored := inf == nil && sum == nil; r.last > 0 && !restored { // a backup has neither
		l.store.o.Logger.Warn("description of a stream written anew: it was missing, damaged, or for other settings", "stream", l.name, "dir", dir, "error", err)
	}
	if created.IsZero() {
		created = time.Now()
	}
	return describeStream(l.store.o.Dir, l.stream, created)
}

// describeStream writes meta.inf and meta.sum of a stream.
func describeStream(root string, st stream, created time.Time) error {
	inf, sum, err := natsblock.EncodeMeta(streamConfig(st), created.UTC())
	if err != nil {
		return err
	}
	blocks := natsblock.FilesOf(streamDir(root, st.name)).Dir
	if err := os.MkdirAll(blocks, 0o700); err != nil {
		return err
	}
	for name, text := range map[string][]byte{server.JetStreamMetaFile: inf, server.JetStreamMetaFileSum: sum} {
		if err := replace(filepath.Join(streamDir(root, st.name), name), text); err != nil {
			return err
		}
	}
	return syncUp(root, blocks)
}
