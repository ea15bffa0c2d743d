package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ledge/store/natsblock"

	"github.com/nats-io/nats-server/v2/server"
)

// prepare checks a log's files with Ledge's own reader before the server opens them, and leaves them so that the server has
// nothing to recover: it would cut off, or delete, what it cannot read. Damage changes nothing on the disk. What a crash
// left unfinished is finished: a torn end is set aside, blocks before the recorded start go, and the server's own files,
// index.db, meta.inf and meta.sum, are written where they do not match.
func (l *Log) prepare(ctx context.Context, clean bool, checkpoints []namedCheckpoint) error {
	bound := int64(lookedUnclean)
	if clean {
		bound = looked
	}
	s, err := l.look(bound)
	if err != nil {
		return err
	}
	l.first, l.last = max(s.first, s.start.First), s.last
	if err := l.holdsEnd(ctx, s, checkpoints); err != nil {
		return err
	}
	if err := s.finish(!clean); err != nil {
		return err
	}
	if err := l.describe(); err != nil {
		return err
	}
	return l.blocks.SyncTail()
}

// look surveys the blocks with the index that is of most use.
func (l *Log) look(bound int64) (*survey, error) {
	if err := l.noPurge(); err != nil {
		return nil, err
	}
	list, own := l.indexes()
	for _, base := range append(list, nil) {
		s, err := l.survey(base, bound)
		if !errors.Is(err, errStale) {
			if err == nil {
				s.own = own
			}
			return s, err
		}
	}
	return nil, fmt.Errorf("%s: %w", l.name, errStale) // not without an index
}

// noPurge refuses a folder in which the server left a purge unfinished: it would replace all blocks. Ledge asks for none.
func (l *Log) noPurge() error {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(l.blocks.Dir), "__msgs__", "*.blk"))
	if err != nil || len(left) == 0 {
		return err
	}
	return l.damage(0, "%s is there: the server would put it in the place of the log; nothing was changed", left[0])
}

// indexes returns the indexes of the stream that can be read, the newest first: the server's own, and the copy that Ledge
// has kept. The first of these is own, if it can be read.
func (l *Log) indexes() (list []*natsblock.Index, own *natsblock.Index) {
	for _, path := range []string{l.indexPath(), l.copyPath()} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		x, err := natsblock.Decode(l.name, text)
		if err != nil {
			l.store.o.Logger.Warn("an index of the log is not used", "path", path, "error", err)
			continue
		}
		if list = append(list, x); path == l.indexPath() {
			own = x
		}
	}
	slices.SortStableFunc(list, func(a, b *natsblock.Index) int { return cmp.Compare(b.Last, a.Last) })
	return list, own
}

func (l *Log) indexPath() string { return filepath.Join(l.blocks.Dir, "index.db") }

// copyPath is where Ledge keeps an index that a power cut leaves alone: the server writes its own in place, without fsync.
func (l *Log) copyPath() string { return filepath.Join(l.store.o.Dir, "index", l.name+".db") }

// holdsEnd verifies the chain of the blocks that were gone over, and compares it with the checkpoints.
func (l *Log) holdsEnd(ctx context.Context, s *survey, checkpoints []namedCheckpoint) error {
	l.verified = l.first
	if s.deep > 0 && s.deep < len(s.blocks) && s.blocks[s.deep].First > 0 {
		l.verified = max(l.first, s.blocks[s.deep].First)
	}
	if s.events > 0 {
		link, err := l.verifyFiles(ctx, min(l.verified, s.last), s.last)
		if err != nil {
			return err
		}
		l.chain = link.prev
	} else if s.known && s.start.First == s.last+1 {
		l.chain = s.start.chain()
	}
	for _, w := range checkpoints {
		if err := l.agrees(ctx, s, w); err != nil {
			return err
		}
	}
	return nil
}

// verifyFiles is [Log.verify] without a server.
func (l *Log) verifyFiles(ctx context.Context, from, to uint64) (linker, error) {
	link := l.linkerAt(from)
	var bad error
	b := l.blockReader(from, to, readChunk)
	err := b.read(ctx, func(p page) bool {
		for _, m := range p.messages {
			if _, bad = link.next(m); bad == nil {
				bad = l.filed(m)
			}
			if bad != nil {
				return false
			}
		}
		return true
	})
	switch {
	case bad != nil:
		return link, bad
	case ctx.Err() != nil:
		return link, ctx.Err()
	case err != nil || b.next <= to:
		return link, l.unread(b.next, err)
	}
	return link, nil
}

// linkerAt begins at a sequence: with the chain on record at the start of the log, elsewhere believing the first event.
func (l *Log) linkerAt(from uint64) linker {
	k := linker{log: l}
	if f, ok := l.store.starts.of(l.name); ok && f.First == from && from > 1 && f.Chain != "" {
		k.prev, k.seq, k.known = f.chain(), from-1, true
	}
	return k
}

// describe writes meta.inf and meta.sum where they are not what Ledge wants, or do not match. The server is never asked to
// create a stream or to change one: it writes the two without fsync, one after the other.
func (l *Log) describe() error {
	dir := streamDir(l.store.o.Dir, l.name)
	want := streamConfig(l.stream)
	inf, _ := os.ReadFile(filepath.Join(dir, server.JetStreamMetaFile))
	sum, _ := os.ReadFile(filepath.Join(dir, server.JetStreamMetaFileSum))
	have, created, err := natsblock.DecodeMeta(l.name, inf, sum)
	if err == nil && have.Name == l.name && asked(have, want) {
		return nil
	}
	if l.last > 0 {
		l.store.o.Logger.Warn("description of a stream written anew: it was missing, damaged, or for other settings", "stream", l.name, "dir", dir, "error", err)
	}
	if created.IsZero() {
		created = now()
	}
	if inf, sum, err = natsblock.EncodeMeta(want, created); err != nil {
		return err
	}
	if err := os.MkdirAll(l.blocks.Dir, 0o700); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	for name, text := range map[string][]byte{server.JetStreamMetaFile: inf, server.JetStreamMetaFileSum: sum} {
		if err := replace(filepath.Join(dir, name), text); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return syncUp(l.store.o.Dir, l.blocks.Dir)
}
