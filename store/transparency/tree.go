// Package transparency makes a transparency log of the log of changes: a Merkle tree with the hashing of RFC 6962 that tools for C2SP
// tlog-tiles and tlog-checkpoint understand. Leaf n of the tree is the chain hash of sequence n+1, 32 bytes, which binds that event and all
// events before it.
//
// Level 0 is read from the log, and from archives, when it is asked for. The levels above are kept in a file that only the tree reads and
// writes. It is disposable: without it, the tree is made again from the log. If an archive is missing, its events have their hashes in the
// file, and no level 0.
package transparency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledge/domain"
	"ledge/store"
)

const (
	// pace is the time between two looks of [Tree.KeepUp], and afterFailure the time after one that has failed.
	pace         = time.Second
	afterFailure = time.Minute
	// mostBehind is how many groups are read in one piece, and by a caller itself if the tree is behind: 65,536 events.
	mostBehind = 256
)

// Tree is the Merkle tree over a log. Its methods may be called at the same time.
type Tree struct {
	log    *store.Log
	kept   *kept
	logger *slog.Logger
	piece  int64 // mostBehind, or fewer in tests

	growing sync.Mutex  // held while groups are added
	sound   atomic.Bool // the kept hashes are of this log
	trouble atomic.Pointer[string]
}

// Open returns the tree over a log, with its kept hashes in the file at path. node is the id of the data folder.
func Open(log *store.Log, path, node string, logger *slog.Logger) (*Tree, error) {
	k, err := openKept(path, node)
	if err != nil {
		return nil, err
	}
	return &Tree{log: log, kept: k, logger: logger, piece: mostBehind}, nil
}

// OpenReading returns the tree over a log as [Open] does, and leaves the file as it is: further hashes are kept in memory.
func OpenReading(log *store.Log, path, node string) (*Tree, error) {
	k, err := loadKept(path, node)
	if err != nil {
		return nil, err
	}
	return &Tree{log: log, kept: k, logger: slog.New(slog.DiscardHandler), piece: mostBehind}, nil
}

// Close closes the file. The caller has ended [Tree.KeepUp] before.
func (t *Tree) Close() error { return t.kept.file.Close() }

// Size returns the number of leaves: the last durable sequence.
func (t *Tree) Size() int64 {
	last, _ := t.log.Last()
	return int64(last)
}

// KeepUp keeps the hashes of the log until ctx ends. It does not run in an append: it looks once a second. A tree that is far behind
// is made in pieces, with a pause after each that is as long as the piece took.
func (t *Tree) KeepUp(ctx context.Context) error {
	far := false
	for {
		begun, wait := time.Now(), pace
		left, err := t.growPiece(ctx)
		if left > 0 != far && err == nil {
			far = left > 0
			t.logger.Info("the Merkle tree of the log of changes is being made", "done", t.kept.count()*fanOut, "left", left*fanOut)
		}
		switch t.note(ctx, err); {
		case err != nil:
			wait = afterFailure
		case far:
			wait = time.Since(begun)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// note remembers and logs why the tree does not grow, once for each reason.
func (t *Tree) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	now := ""
	if err != nil {
		now = err.Error()
	}
	if before := t.trouble.Swap(&now); now != "" && (before == nil || *before != now) {
		t.logger.Warn("the Merkle tree of the log of changes does not grow; checkpoints are refused until it does", "error", err)
	}
}

// Grow reads the events that have no kept hashes yet.
func (t *Tree) Grow(ctx context.Context) error {
	for {
		if left, err := t.growPiece(ctx); left == 0 || err != nil {
			return err
		}
	}
}

// growPiece reads one piece of the events that have no kept hashes yet. It returns how many groups are left.
func (t *Tree) growPiece(ctx context.Context) (left int64, err error) {
	t.growing.Lock()
	defer t.growing.Unlock()
	if err := t.check(ctx); err != nil {
		return 0, err
	}
	groups := t.Size() / fanOut
	err = t.grow(ctx, min(groups, t.kept.count()+t.piece))
	return groups - t.kept.count(), err
}

// grow keeps the hashes of the groups up to a number. t.growing is held.
func (t *Tree) grow(ctx context.Context, groups int64) error {
	have := t.kept.count()
	if have >= groups {
		return nil
	}
	leaves := make([]byte, 0, fanOut*tlog.HashSize)
	var failed error
	err := t.log.Chains(ctx, uint64(have*fanOut)+1, uint64(groups*fanOut), func(chain store.Chain) {
		leaf := tlog.RecordHash(chain[:])
		if leaves = append(leaves, leaf[:]...); len(leaves) == cap(leaves) && failed == nil {
			failed = t.kept.add(treeHash(leaves))
			leaves = leaves[:0]
		}
	})
	if failed != nil {
		return t.repair(failed)
	}
	return err
}

// check holds once that the kept hashes are of this log: the leaves of the last group bind all before them. t.growing is held.
func (t *Tree) check(ctx context.Context) error {
	if t.sound.Load() {
		return nil
	}
	if n := t.kept.count(); n > 0 {
		same := n*fanOut <= t.Size()
		if same {
			leaves, err := t.leaves(ctx, (n-1)*fanOut, fanOut)
			if _, gone := errors.AsType[*store.Gap](err); err != nil && !gone { // of archived events only the hashes are left
				return err
			}
			had, failed := t.kept.read(1, n-1, 1)
			if failed != nil {
				return t.repair(failed)
			}
			same = err != nil || treeHash(leaves) == tlog.Hash(had)
		}
		if !same {
			t.logger.Warn("the kept hashes of the Merkle tree are of another log; they are made again", "events", n*fanOut)
			if err := t.kept.forget(); err != nil {
				return err
			}
		}
	}
	t.sound.Store(true)
	return nil
}

// repair drops damaged hashes, which are then made again, and returns the error for the caller that met them.
func (t *Tree) repair(err error) error {
	if !errors.Is(err, errDamaged) {
		return err
	}
	t.logger.Warn("kept hashes of the Merkle tree are damaged; they are made again from the log")
	if err := t.kept.repair(); err != nil {
		return err
	}
	return domain.Errorf(domain.Unavailable, "the Merkle tree is being made again from the log; try again")
}

// reach has the tree keep the hashes that a size needs. The error is domain.Unavailable if it is far behind.
func (t *Tree) reach(ctx context.Context, size int64) error {
	groups := size / fanOut
	if t.sound.Load() && t.kept.count() >= groups {
		return nil
	}
	if behind := groups - t.kept.count(); behind > t.piece {
		const far = "the Merkle tree has %d of %d events; "
		have := t.kept.count() * fanOut
		if why := t.trouble.Load(); why != nil && *why != "" {
			return domain.Errorf(domain.Unavailable, far+"it does not grow: %s", have, size, *why)
		}
		return domain.Errorf(domain.Unavailable, far+"it is being made; try again", have, size)
	}
	t.growing.Lock()
	defer t.growing.Unlock()
	if err := t.check(ctx); err != nil {
		return err
	}
	return t.grow(ctx, groups)
}

// chains returns the chain hashes of w leaves from leaf n on, one behind the other.
func (t *Tree) chains(ctx context.Context, n int64, w int) ([]byte, error) {
	text := make([]byte, 0, w*tlog.HashSize)
	err := t.log.Chains(ctx, uint64(n)+1, uint64(n)+uint64(w), func(chain store.Chain) { text = append(text, chain[:]...) })
	if err != nil {
		return nil, err
	}
	if len(text) < w*tlog.HashSize {
		return nil, fmt.Errorf("leaves %d to %d of the tree: the log has only %d", n, n+int64(w)-1, len(text)/tlog.HashSize)
	}
	return text, nil
}

// leaves returns w hashes of level 0 from leaf n on.
func (t *Tree) leaves(ctx context.Context, n int64, w int) ([]byte, error) {
	text, err := t.chains(ctx, n, w)
	for at := 0; at < len(text); at += tlog.HashSize {
		h := tlog.RecordHash(text[at : at+tlog.HashSize])
		copy(text[at:], h[:])
	}
	return text, err
}

// Tile returns the hashes of a tile of C2SP tlog-tiles: w of them from n*256 on, at a level from 0 on. The error is domain.NotFound if the
// tree has no such tile, or if the events below it are in an archive that is missing.
func (t *Tree) Tile(ctx context.Context, level int, n int64, w int) ([]byte, error) {
	if err := t.holds(level, n, w); err != nil {
		return nil, err
	}
	text, err := t.tile(ctx, level, n, w)
	return text, nameArchive(err)
}

// tile is Tile for one that the tree holds.
func (t *Tree) tile(ctx context.Context, level int, n int64, w int) ([]byte, error) {
	if level == 0 {
		return t.leaves(ctx, n*fanOut, w)
	}
	if err := t.reach(ctx, (n*fanOut+int64(w))<<(height*level)); err != nil {
		return nil, err
	}
	text, err := t.kept.read(level, n*fanOut, w)
	if err != nil {
		return nil, t.repair(err)
	}
	return text, nil
}

// Entries returns the bundle of w leaves from n*256 on, each a chain hash behind its length as a big-endian uint16. Its errors are those of
// [Tree.Tile].
func (t *Tree) Entries(ctx context.Context, n int64, w int) ([]byte, error) {
	if err := t.holds(0, n, w); err != nil {
		return nil, err
	}
	chains, err := t.chains(ctx, n*fanOut, w)
	if err != nil {
		return nil, nameArchive(err)
	}
	bundle := make([]byte, 0, w*(2+tlog.HashSize))
	for at := 0; at < len(chains); at += tlog.HashSize {
		bundle = append(append(bundle, 0, tlog.HashSize), chains[at:at+tlog.HashSize]...)
	}
	return bundle, nil
}

// Resource returns the tile or the bundle of entries at a path below tile/. Its errors are those of [ParsePlace] and [Tree.Tile].
func (t *Tree) Resource(ctx context.Context, path string) ([]byte, error) {
	at, err := ParsePlace(path)
	switch {
	case err != nil:
		return nil, err
	case at.Level == entriesLevel:
		return t.Entries(ctx, at.N, at.Width)
	}
	return t.Tile(ctx, at.Level, at.N, at.Width)
}

// holds returns an error unless the tree has the first w hashes of a tile.
func (t *Tree) holds(level int, n int64, w int) error {
	if level*height < 63 && n < 1<<54 && n*fanOut+int64(w) <= t.Size()>>(level*height) {
		return nil
	}
	return domain.Errorf(domain.NotFound,
		"the tree of %d events does not have tile %d of level %d with %d hashes; ask for tiles of a checkpoint", t.Size(), n, level, w)
}

// nameArchive returns domain.NotFound for events that are in an archive that is missing.
func nameArchive(err error) error {
	if gap, ok := errors.AsType[*store.Gap](err); ok {
		return domain.Errorf(domain.NotFound, "%v; the hashes above them are kept", gap)
	}
	return err
}

// reader reads the hashes of a tree of a size, each tile once.
func (t *Tree) reader(ctx context.Context, size int64) tlog.HashReader {
	tiles := map[tlog.Tile][]byte{}
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		list := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			at := tlog.TileForIndex(height, index)
			at.W = int(min(size>>(height*at.L)-at.N*fanOut, fanOut))
			text, ok := tiles[at]
			var err error
			if !ok {
				if text, err = t.tile(ctx, at.L, at.N, at.W); err != nil {
					return nil, err
				}
				tiles[at] = text
			}
			if list[i], err = tlog.HashFromTile(at, text, index); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// Root returns the hash of the tree of the first size events.
func (t *Tree) Root(ctx context.Context, size int64) (tlog.Hash, error) {
	root, err := tlog.TreeHash(size, t.reader(ctx, size))
	return root, nameArchive(err)
}
