package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
)

// retention moves the start of a log.
type retention struct {
	log    *Log
	moving sync.Mutex // held while the start moves
}

// DropBefore removes whole block files that have only events before a sequence. It returns the first sequence of the log after
// that. The last event always stays. The log of changes is kept for ever and refuses; see [Log.DropArchived].
//
// A block that is only partly before the sequence stays as it is: the server would write it anew and rename it, without an
// fsync, and a power cut could take what is behind.
func (r *retention) DropBefore(ctx context.Context, seq uint64) (first uint64, err error) {
	l := r.log
	if l.forever {
		return l.First(), fmt.Errorf("%s is kept for ever; what is archived leaves it by DropArchived", l.name)
	}
	last, _ := l.Last()
	to, err := l.boundary(min(seq, last))
	if err == nil && to > 0 {
		err = r.moveStart(ctx, to)
	}
	return l.First(), err
}

// DropArchived takes events up to a sequence, which is the last of a block file, off the log. The caller has verified that
// they are in an archive and that there is a snapshot as of that sequence with this chain hash. After a crash in the middle
// the next start does the rest.
func (r *retention) DropArchived(ctx context.Context, last uint64, chain [32]byte) error {
	l := r.log
	m, err := l.one(ctx, last)
	if err != nil {
		return err
	}
	if got, _ := chainIn(m.Header); got != chain {
		return l.damage(last, "its chain hash is %x, but its snapshot says %x", got, chain)
	}
	return r.moveStart(ctx, last+1)
}

// moveStart removes all events before a sequence from the log. It first records the new start durably; from then on the events
// are not read. Then it removes whole block files. After a crash between the two, the next start removes the rest. The last
// block stays, and with it the end of the chain.
func (r *retention) moveStart(ctx context.Context, to uint64) error {
	l := r.log
	r.moving.Lock()
	defer r.moving.Unlock()
	last, chain := l.Last()
	if to = min(to, last+1); to <= l.First() {
		return r.unlink(ctx, l.First()) // what a removal that failed has left behind
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
	return r.unlink(ctx, to)
}

// unlink removes the blocks that are wholly before a sequence, durably.
func (r *retention) unlink(ctx context.Context, seq uint64) error {
	l := r.log
	last, _ := l.Last()
	to, err := l.boundary(min(seq, last))
	if err != nil || to == 0 {
		return err
	}
	if err := r.purge(ctx, to); err != nil {
		return err
	}
	if err := l.blocks.SyncFolder(l.blocks.Dir); err != nil {
		err = l.syncError(err)
		l.final(err)
		return err
	}
	return nil
}

// purge has the server remove all that is before a sequence, with which a block begins.
func (r *retention) purge(ctx context.Context, seq uint64) error {
	l := r.log
	l.store.restartLock.RLock()
	defer l.store.restartLock.RUnlock()
	var answer server.JSApiStreamPurgeResponse
	return callAPI(ctx, l.store.node.write, "PURGE", l.name, server.JSApiStreamPurgeRequest{Sequence: seq}, &answer, func() *server.ApiError { return answer.Error })
}
