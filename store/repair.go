package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"ledge/domain"
	"ledge/store/natsblock"

	"github.com/nats-io/nats.go"
)

// maxFailures is how many groups in a row may fail before a log is given up until the process starts again.
const maxFailures = 3

// recover brings a log back after a failed append: JetStream is restarted in place where the server cannot write any
// more, what the log holds beyond its known end is synced, verified and returned, in order. It is what was recorded of
// the failed run, or of one before it that was given up: nothing else writes here. An error means that the log is given up.
func (l *Log) recover(ctx context.Context, cause error) ([]domain.Recorded, error) {
	l.failures++
	s := l.store
	s.restartLock.Lock()
	defer s.restartLock.Unlock()
	if err := l.err(); err != nil {
		return nil, err // closed meanwhile, or damaged
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*apiWait)
	defer cancel()
	if err := s.restart(ctx); err != nil {
		l.fail(fmt.Errorf("%s: restart after a failed write: %w", l.name, err))
		return nil, l.err()
	}
	recorded, err := l.resync(ctx)
	if err != nil {
		l.fail(fmt.Errorf("%s: after a failed write: %w", l.name, err))
		return nil, l.err()
	}
	if errors.Is(cause, natsblock.ErrLayout) && !l.endsInFiles(ctx) {
		l.fail(fmt.Errorf("%s: nothing more is acknowledged: %w", l.name, cause))
		return nil, l.err()
	}
	if l.failures >= maxFailures {
		l.fail(fmt.Errorf("%s: %d appends in a row failed, the last with: %w; nothing that was answered is lost: check the disk and start again", l.name, l.failures, cause))
	}
	return recorded, nil
}

// restart restarts JetStream in place and holds that every stream still ends where it ended.
func (s *Store) restart(ctx context.Context) error {
	if err := s.node.stopJetStream(); err != nil {
		return err
	}
	for _, l := range s.logs {
		if err := l.mend(ctx); err != nil {
			return err
		}
	}
	if err := s.node.startJetStream(); err != nil {
		return err
	}
	for _, l := range s.logs {
		if err := l.reopened(ctx); err != nil {
			return err
		}
	}
	s.o.Logger.Warn("jetstream restarted in place")
	return nil
}

// mend finishes what the failed write left undone, as a start does: the server must have nothing to recover here either.
func (l *Log) mend(ctx context.Context) error {
	r, err := l.inspectFiles(ctx, l.manifest.segments(), 0)
	if err != nil {
		return err
	}
	last, chain := l.Last()
	if err := l.agrees(ctx, r, namedCheckpoint{Checkpoint{last, chain}, "the last event that was acknowledged"}); err != nil {
		return err
	}
	return r.finish(false)
}

func (l *Log) reopened(ctx context.Context) error {
	info, err := streamInfo(ctx, l.store.node.write, l.name, true)
	if err != nil {
		return err
	}
	if last, _ := l.Last(); info.State.LastSeq < last {
		return l.damage(info.State.LastSeq+1, "events up to %d were answered but are gone", last)
	}
	return l.whole(info.State)
}

// barrier returns when whatever was published before has landed or never will: it publishes, behind it on the same way,
// what no fence lets in. A publish of a failed run that landed later would let the tail of the next run in behind it.
func (l *Log) barrier(ctx context.Context) error {
	answer, err := l.store.node.write.RequestMsgWithContext(ctx, l.probe(""))
	if err != nil {
		return fmt.Errorf("no answer after the restart: %w", err)
	}
	if !bytes.Contains(answer.Data, []byte(`"err_code":10071`)) {
		return fmt.Errorf("unexpected answer after the restart: %s", answer.Data)
	}
	return nil
}

// probe is a message that no fence lets in. The server answers it behind all that was published before it.
func (l *Log) probe(reply string) *nats.Msg {
	return &nats.Msg{Subject: l.ingest + "barrier", Reply: reply, Header: nats.Header{headerFence: {strconv.FormatUint(math.MaxInt64, 10)}}}
}

// resync syncs and takes in what the stream holds beyond the known end.
func (l *Log) resync(ctx context.Context) ([]domain.Recorded, error) {
	if err := l.barrier(ctx); err != nil {
		return nil, err
	}
	if err := l.blocks.SyncTail(); err != nil {
		return nil, &SyncError{l.name, err}
	}
	info, err := streamInfo(ctx, l.store.node.write, l.name, false)
	if err != nil {
		return nil, err
	}
	last, chain := l.Last()
	if info.State.LastSeq == last {
		return nil, nil
	}
	var recorded []domain.Recorded
	link := linker{log: l, prev: chain, seq: last, known: true}
	var bad error
	_, err = l.live(ctx, last+1, info.State.LastSeq, func(p page) bool {
		d := l.decodePage(&link, p, 0)
		recorded, bad = append(recorded, d.events...), d.err
		return bad == nil
	})
	if err = cmp.Or(bad, err); err != nil {
		return nil, err
	}
	l.setLast(link.seq, link.prev)
	return recorded, nil
}

// endsInFiles reports whether the block files, which were synced, hold the last event.
func (l *Log) endsInFiles(ctx context.Context) (found bool) {
	last, _ := l.Last()
	_ = l.blockReader(last, last, oneChunk).read(ctx, func(p page) bool { found = len(p.messages) > 0; return true })
	return found || last == 0
}
