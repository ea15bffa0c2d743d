package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"ledge/store/natsblock"
)

// DropBefore removes whole block files that have only events before a sequence. It returns the first sequence of the log after
// that. The last event always stays. The log of changes is kept for ever and refuses; see [Log.DropArchived].
//
// A block that is only partly before the sequence stays as it is: the server would write it anew and rename it, without an
// fsync, and a power cut could take what is behind.
func (l *Log) DropBefore(ctx context.Context, seq uint64) (first uint64, err error) {
	if l.forever {
		return l.First(), fmt.Errorf("%s is kept for ever; what is archived leaves it by DropArchived", l.name)
	}
	last, _ := l.Last()
	starts, err := blockStarts(l.blocks, min(seq, last))
	if err != nil {
		return l.First(), fmt.Errorf("%s: %w", l.name, err)
	}
	if len(starts) > 0 {
		err = l.moveStart(ctx, starts[len(starts)-1])
	}
	return l.First(), err
}

// DropArchived takes events up to a sequence, which is the last of a block file, off the log. The caller has verified that
// they are in an archive and that there is a snapshot as of that sequence with this chain hash. After a crash in the middle
// the next start does the rest.
func (l *Log) DropArchived(ctx context.Context, last uint64, chain [32]byte) error {
	m, err := l.one(ctx, last)
	if err != nil {
		return err
	}
	if got, _ := chainIn(m.Header); got != chain {
		return l.damage(last, "its chain hash is %x, but its snapshot says %x", got, chain)
	}
	return l.moveStart(ctx, last+1)
}

// moveStart removes all events before a sequence from the log. It first records the new start durably; from then on the events
// are not read. Then it removes whole block files. After a crash between the two, the next start removes the rest. The last
// block stays, and with it the end of the chain.
func (l *Log) moveStart(ctx context.Context, to uint64) error {
	l.moving.Lock()
	defer l.moving.Unlock()
	last, chain := l.Last()
	if to = min(to, last+1); to <= l.First() {
		return l.unlink(ctx, l.First()) // what a removal that failed has left behind
	}
	if to <= last {
		m, err := l.one(ctx, to-1)
		if err != nil {
			return err
		}
		chain, _ = chainIn(m.Header)
	}
	if err := l.manifest.move(to, chain); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	l.setFirst(to)
	return l.unlink(ctx, to)
}

// unlink removes the blocks that are wholly before a sequence, durably.
func (l *Log) unlink(ctx context.Context, seq uint64) error {
	last, _ := l.Last()
	starts, err := blockStarts(l.blocks, min(seq, last))
	if err != nil || len(starts) == 0 {
		return err
	}
	if err := l.purge(ctx, starts[len(starts)-1]); err != nil {
		return err
	}
	if err := l.blocks.SyncFolder(l.blocks.Dir); err != nil {
		err = &SyncError{l.name, err}
		l.fail(err)
		return err
	}
	return nil
}

// purge has the server remove all that is before a sequence, with which a block begins.
func (l *Log) purge(ctx context.Context, seq uint64) error {
	var r server.JSApiStreamPurgeResponse
	return callAPI(ctx, l.store.node.write, "PURGE", l.name, server.JSApiStreamPurgeRequest{Sequence: seq}, &r, func() *server.ApiError { return r.Error })
}

// BlockEnds returns the last sequences of the block files that are full, with their sizes: where a stretch of the log may
// be closed. Of each, At is when the first event of the next block was stored.
func (l *Log) BlockEnds() (list []BlockEnd, err error) {
	all, err := l.blocks.List()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	for i, n := range all[:max(len(all), 1)-1] {
		e, ok := blockEnd(l.blocks, n, all[i+1])
		if !ok {
			break // the next block was just made, or a read finds the damage
		}
		list = append(list, e)
	}
	return list, nil
}

// blockEnd returns how a block ends, by how the next begins.
func blockEnd(files *natsblock.Files, n, next uint32) (e BlockEnd, ok bool) {
	start, err := files.First(next)
	if err != nil || !start.IsMessage() {
		return e, false
	}
	st, err := os.Stat(files.Path(n))
	if err != nil {
		return e, false
	}
	return BlockEnd{start.Seq() - 1, st.Size(), start.At()}, true
}

// BlockEnd is the end of a block file.
type BlockEnd struct {
	Last  uint64
	Bytes int64
	At    time.Time
}

// blockStarts returns the sequences, up to one, with which blocks after the first begin, ascending. A block that begins with
// something else than an event is left out.
func blockStarts(files *natsblock.Files, upTo uint64) (list []uint64, err error) {
	all, err := files.List()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for _, n := range all[1:] {
		r, err := files.First(n)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) || errors.Is(err, natsblock.ErrNoRecord) {
			continue // retention has removed it, the server has just made it, or it is damage for who reads it
		}
		if err != nil {
			return nil, err
		}
		if r.IsMessage() && r.Seq() > upTo {
			break
		}
		if r.IsMessage() {
			list = append(list, r.Seq())
		}
	}
	return list, nil
}
