package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"ledge/domain"
	"ledge/store/natsblock"
)

// maxFailures is how many groups in a row may fail before a log is given up until the process starts again.
const maxFailures = 3

// reopen brings a log back after a failed append, as a start of the process does: the server is closed, the files of all logs are recovered, and a new
// server is started on them. It returns what the log holds beyond its known end, in order: what was recorded of the failed group, or of one
// before it that was given up, since nothing else writes here. An error means that the log is given up.
func (w *writer) reopen(cause error) ([]domain.Recorded, error) {
	w.failures++
	l, s := w.log, w.log.store
	s.restartLock.Lock()
	defer s.restartLock.Unlock()
	if err := l.err(); err != nil {
		return nil, err // closed meanwhile, or damaged
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*apiWait)
	defer cancel()
	recorded, err := s.restart(ctx, l)
	if err != nil {
		// The server of all logs is closed, and the fsync that failed may be of any of them.
		for _, one := range s.logs {
			if !one.final(err) {
				one.fail(fmt.Errorf("%s: restart after a failed write: %w", l.name, err))
			}
		}
		return nil, l.err()
	}
	if w.failures >= maxFailures {
		l.fail(fmt.Errorf("%s: %d appends in a row failed, the last with: %w; nothing that was answered is lost: check the disk and start again", l.name, w.failures, cause))
	}
	return recorded, nil
}

// restart recovers all logs and starts the server again. It returns what one of them holds beyond its known end.
func (s *Store) restart(ctx context.Context, failed *Log) (recorded []domain.Recorded, err error) {
	s.node.close()
	ends := map[*Log]uint64{}
	for _, l := range s.logs {
		last, chain := l.Last()
		r, err := recoverFiles(ctx, l, true, Known{"the last event that was acknowledged", last, chain})
		if err != nil {
			return nil, err
		}
		ends[l] = r.last
	}
	if recorded, err = failed.beyond(ctx, ends[failed]); err != nil {
		return nil, err
	}
	if err := s.node.restart(ctx, s.o); err != nil {
		return nil, err
	}
	for _, l := range s.logs {
		if err := l.checkServerEnd(ctx, ends[l]); err != nil {
			return nil, err
		}
		if err := l.writer.listen(); err != nil {
			return nil, err
		}
	}
	s.o.Logger.Warn("the log's server was started again, after a failed write", "stream", failed.name)
	return recorded, nil
}

// beyond takes in what the files hold beyond the known end.
func (l *logReader) beyond(ctx context.Context, last uint64) (recorded []domain.Recorded, err error) {
	known, chain := l.Last()
	if last == known {
		return nil, nil
	}
	link := linker{stream: &l.stream, prev: chain, seq: known, known: true}
	var bad error
	_, err = l.fromBlocks(ctx, known+1, last, func(p page) bool {
		d := l.decodePage(&link, p, 0)
		recorded, bad = append(recorded, d.events...), d.err
		return bad == nil
	})
	if bad != nil {
		return nil, bad
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	l.setLast(link.seq, link.prev)
	return recorded, nil
}

// final makes the log refuse for good if err says that an fsync failed, and reports whether it did.
func (l *Log) final(err error) bool {
	failed, ok := errors.AsType[*SyncError](err)
	if ok {
		l.fail(failed)
	}
	return ok
}

// SyncError is the error for a log one of whose files could not be synced. Linux reports a failed fsync once, marks the
// pages clean, and answers reads from them: nothing that is read back and no later fsync proves that anything is on the
// disk. So the log refuses until the process starts again, and that start copies the tail before it trusts it.
type SyncError struct {
	Stream string
	Err    error
}

func (e *SyncError) Error() string {
	return fmt.Sprintf("%s: fsync failed: %v; nothing more is acknowledged, because the disk may have lost what was written last: "+
		"check the disk and its cables, then start again", e.Stream, e.Err)
}

func (e *SyncError) Unwrap() error { return e.Err }

// syncError returns what the error of a sync of block files means: a [SyncError], unless no fsync has failed, because the files are not where they
// must be or cannot be opened.
func (l *Log) syncError(err error) error {
	if err == nil || errors.Is(err, natsblock.ErrLayout) {
		return err
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok && of.Op != "sync" {
		return fmt.Errorf("%s: not synced: %w", l.name, err)
	}
	return &SyncError{l.name, err}
}
