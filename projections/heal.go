package projections

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"ledge/domain"
	"ledge/store/osfile"
)

// healing folds a broken file anew, beside the running service.
type healing struct {
	able   atomic.Bool // there is HealFrom, and it has not given up
	wanted chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	upTo   uint64 // the last event that a healing has folded; changes under applying
	begin  func(path string) error
}

// Log reads the events of the log from a sequence on, or from the first that is kept, to its end.
type Log func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error]

// The time between two tries to heal.
const (
	firstHeal = 100 * time.Millisecond
	lastHeal  = time.Minute
)

// HealFrom has a broken file folded anew from the log, from now on, and put in the place of the broken one, which is kept
// as one file with ".damaged" at the end of its name. Meanwhile Apply waits, what cannot be read is an error of code
// Unavailable, and Health says why. What the disk refuses is tried again; giveUp is called, once, where the log itself
// cannot be folded.
func (d *DB) HealFrom(log Log, giveUp func(error)) {
	d.healing.able.Store(true)
	if d.failed() != nil {
		signal(d.healing.wanted)
	}
	d.tasks.Go(func() {
		for {
			select {
			case <-d.stop:
				return
			case <-d.healing.wanted:
			}
			if err := d.heal(log); err != nil && d.healing.ctx.Err() == nil {
				d.endHealing()
				giveUp(err)
				return
			}
		}
	})
	context.AfterFunc(d.healing.ctx, d.endHealing)
}

// BeginWith has the healing begin with what f makes at a path, where it makes anything: a file that is restored from a
// snapshot, see [Restore]. It is called before HealFrom, for a log that has not all of its events any more.
func (d *DB) BeginWith(f func(path string) error) { d.healing.begin = f }

// StopHealing ends the healing that is under way, and all that wait for it. Close does so too.
func (d *DB) StopHealing() { d.healing.cancel() }

func (d *DB) heals() bool { return d.healing.able.Load() }

// endHealing wakes the goroutines that wait for the healing.
func (d *DB) endHealing() {
	d.healing.able.Store(false)
	d.applying.Lock()
	defer d.applying.Unlock()
	d.room.Broadcast()
}

// heal returns when the file is healed, cannot be, or is closed.
func (d *DB) heal(log Log) error {
	for wait := firstHeal; d.failed() != nil; wait = min(2*wait, lastHeal) {
		started := time.Now()
		err := d.refold(log)
		if err == nil {
			d.log.Info("projection is folded anew", "file", d.path, "up to", d.at().seq, "took", time.Since(started))
			return nil
		}
		if hopeless(err) || d.healing.ctx.Err() != nil {
			return fmt.Errorf("fold %s anew: %w", d.path, err)
		}
		d.log.Warn("projection cannot be folded anew yet", "file", d.path, "error", err, "again in", wait)
		select {
		case <-time.After(wait):
		case <-d.healing.ctx.Done():
		}
	}
	return nil
}

// hopeless reports whether the log cannot be folded, whatever the file is.
func hopeless(err error) bool {
	_, ok := errors.AsType[*foldError](err)
	_, io := errors.AsType[*fs.PathError](err)
	_, sys := errors.AsType[syscall.Errno](err)
	_, encode := errors.AsType[*encodeError](err)
	return (ok || encode) && !io && !sys
}

// refolding is the file that is to take the place of a broken one.
func refolding(path string) string { return path + ".refold" }

// refold makes a new file of the log and takes it in use.
func (d *DB) refold(log Log) (err error) {
	if err := d.beginAnew(); err != nil {
		return err
	}
	n, err := Open(Options{Path: refolding(d.path), Tables: d.tables, Logger: d.log, MaxPage: d.maxPage, LockTimeout: d.lockFor, limits: d.limits})
	if err != nil {
		return err
	}
	defer func() {
		if n != nil {
			_ = n.Close()
		}
	}()
	if err := n.follow(d.healing.ctx, log); err != nil {
		return err
	}
	if err := n.Sync(); err != nil {
		return err
	}
	if err := d.take(n); err != nil {
		return err
	}
	n = nil
	return nil
}

// beginAnew removes what another try has left, and begins with a snapshot where there is one.
func (d *DB) beginAnew() error {
	if err := os.Remove(refolding(d.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if d.healing.begin == nil {
		return nil
	}
	return d.healing.begin(refolding(d.path))
}

// refoldEvents is how many events one Apply gets.
const refoldEvents = 1000

// follow applies what the log has.
func (d *DB) follow(ctx context.Context, log Log) error {
	at, _ := d.Checkpoint()
	batch := make([]domain.Recorded, 0, refoldEvents)
	for r, err := range log(ctx, at+1) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if batch = append(batch, r); len(batch) < refoldEvents {
			continue
		}
		if err := d.Apply(batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	return d.Apply(batch)
}

// take puts the file of n in the place of the broken one, if it has as much. What is applied is on the log before, so that
// n lacks something only where an Apply was under way.
func (d *DB) take(n *DB) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.applying.Lock()
	defer d.applying.Unlock()
	if at := n.at(); at.seq < d.at().seq {
		if at.seq > 0 || d.tables == Events {
			return fmt.Errorf("the log was read up to %d, but events up to %d were applied", at.seq, d.at().seq)
		}
		if err := n.skipTo(d.at()); err != nil { // the log has dropped all its events
			return err
		}
	}
	n.once.Do(func() { close(n.stop) })
	n.healing.cancel()
	n.tasks.Wait()
	old := d.file
	d.seen.Lock()
	d.file, d.fresh, d.flushing, d.inFile = n.file, nil, nil, n.inFile
	d.seen.Unlock()
	d.healing.upTo = n.at().seq
	d.replace()
	d.stalled.Store(nil)
	d.broken.Store(nil)
	d.move(n.at())
	d.room.Broadcast()
	d.tasks.Go(func() {
		old.readers.Wait()
		_ = old.close()
	})
	return nil
}

// skipTo moves the checkpoint of an empty projection.
func (d *DB) skipTo(to checkpoint) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	o := newOverlay(d, nil)
	o.end = to
	if err := d.commit(o); err != nil {
		return err
	}
	d.inFile = to.seq
	d.move(to)
	return nil
}

// replace gives the new file the name of the broken one, which is kept under another. Where that fails, the mark beside it
// stays, so that the next start folds it again.
func (d *DB) replace() {
	kept := d.path + ".damaged"
	_ = os.Remove(kept)
	err := os.Link(d.path, kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(d.path, kept) // a file system without links
	}
	if err != nil {
		d.log.Warn("the broken file is not kept", "file", d.path, "error", err)
	}
	if err = os.Rename(refolding(d.path), d.path); err == nil {
		err = osfile.SyncDir(filepath.Dir(d.path))
	}
	if err == nil {
		err = os.Remove(condemned(d.path))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Error("the projection that was folded anew has not got its name; it is folded again at the next start", "file", d.path, "error", err)
	}
}
