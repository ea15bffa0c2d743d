package retention

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/loop"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/osfile"
)

const (
	// archiveAgain is how long a stretch that could not be archived is left alone.
	archiveAgain = 10 * time.Minute
	// stretchBytes bounds an archive, before compression; one block file is archived whatever its size.
	stretchBytes = 1 << 30
)

// archiver closes stretches of the log of changes: when it is larger than the setting says, the oldest block
// files go to an archive. Once begun, it goes on down to three quarters of the limit, because each stretch costs a
// snapshot of the whole state.
//
// The order makes every crash harmless: the archive is written, verified and durable; then the snapshot, which is what
// says that the stretch is archived; then the block files go. A stretch is on the log or in an archive, or in both, which
// the next start ends.
type archiver struct {
	o      Options
	d      *node.Node
	log    *store.Log
	logger *slog.Logger
	now    func() time.Time

	mu      sync.Mutex
	trouble error // why the last stretch is not archived
}

func newArchiver(o Options, d *node.Node) *archiver {
	return &archiver{o: o, d: d, log: d.Changes.Log, logger: o.Logger, now: o.Now}
}

// run looks until ctx ends.
func (a *archiver) run(ctx context.Context) error {
	a.clean()
	var after time.Time
	if err := a.unfinished(ctx); err != nil {
		after = a.failed(ctx, err)
	}
	return loop.Every(ctx, sweepEvery, func(ctx context.Context) {
		if !a.now().Before(after) {
			after = a.failed(ctx, a.close(ctx))
		}
	})
}

// failed takes note of an error, and returns when to try again.
func (a *archiver) failed(ctx context.Context, err error) time.Time {
	if ctx.Err() != nil {
		return time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble = err
	if err == nil {
		return time.Time{}
	}
	a.logger.Warn("the log of changes is over its limit and not archived; tried again later", "after", archiveAgain, "error", err)
	return a.now().Add(archiveAgain)
}

// warnings are for the answer of GET /health: what an operator has to look at while the service works.
func (a *archiver) warnings() (list []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble != nil {
		list = append(list, fmt.Sprintf("the log of changes is over its limit and not archived: %v", a.trouble))
	}
	return list
}

// foldsToArchive are the folders in which states are folded, in the data folder.
const foldsToArchive = "archive-fold-*"

// clean removes what a crash has left.
func (a *archiver) clean() {
	left, _ := filepath.Glob(filepath.Join(a.o.Paths.Data, foldsToArchive))
	var errs []error
	for _, path := range left {
		errs = append(errs, os.RemoveAll(path))
	}
	errs = append(errs, store.RemoveUnfinished(a.o.Paths.Archives()), store.RemoveUnfinished(a.o.Paths.Snapshots()))
	if err := errors.Join(errs...); err != nil {
		a.logger.Warn("remove what a crash has left of an archive", "error", err)
	}
}

// close closes stretches until the log is within its limit.
func (a *archiver) close(ctx context.Context) error {
	for begun := false; ctx.Err() == nil; begun = true {
		last, bytes, err := a.due(begun)
		if err != nil || last == 0 {
			return err
		}
		if err := a.stretch(ctx, last, bytes); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// due returns the sequence up to which a stretch is to be closed, 0 for none, and the bytes that it takes.
func (a *archiver) due(begun bool) (last uint64, bytes int64, err error) {
	limit := int64(a.o.EventsMaxBytes)
	if limit == 0 {
		return 0, 0, nil
	}
	st, err := a.log.Stats()
	if err != nil {
		return 0, 0, err
	}
	if !begun && st.Bytes <= limit {
		return 0, 0, nil
	}
	ends := a.log.BlockEnds()
	needed, err := a.needed()
	if err != nil {
		return 0, 0, err
	}
	for _, e := range ends {
		if e.Last < st.First {
			continue
		}
		if st.Bytes-bytes <= limit/4*3 || e.Last >= needed || last > 0 && bytes+e.Bytes > stretchBytes {
			break
		}
		last, bytes = e.Last, bytes+e.Bytes
	}
	if last == 0 {
		return 0, 0, nil
	}
	return a.begunBefore(st.First, last, needed, ends), bytes, nil
}

// begunBefore returns the end of a stretch for which a crash has left an archive: that is replaced then. Where there is none
// it is last.
func (a *archiver) begunBefore(first, last, needed uint64, ends []store.BlockEnd) uint64 {
	list, err := a.d.Store.Archives().List()
	if err != nil {
		return last // the writing will say it
	}
	for _, ref := range list {
		isEnd := func(e store.BlockEnd) bool { return e.Last == ref.Last }
		if ref.First == first && ref.Last < needed && slices.ContainsFunc(ends, isEnd) {
			return ref.Last
		}
	}
	return last
}

// needed is the first event that the bridge or the callbacks still have to look at.
func (a *archiver) needed() (uint64, error) {
	needed := a.d.Changes.Recorded() + 1
	names := []string{domain.CursorDeviceChanges, domain.CursorCallbacks}
	err := a.d.Changes.Read(func(v *projections.View) error {
		list, _, err := v.Services(domain.Page{Limit: -1})
		for _, s := range list {
			names = append(names, domain.CursorCallbacksOf(s.Name))
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	err = a.d.Notifications.Read(func(v *projections.View) error {
		for _, name := range names {
			if at, ok := v.Cursors.Get(name); ok {
				needed = min(needed, at+1)
			}
		}
		return nil
	})
	return needed, err
}

// stretch archives the events up to a sequence.
func (a *archiver) stretch(ctx context.Context, last uint64, bytes int64) error {
	if err := a.room(bytes); err != nil {
		return err
	}
	key, err := store.OpenSigningKey(a.o.Paths.SigningKey())
	if err != nil {
		return err
	}
	first, started := a.log.First(), time.Now()
	ref, err := a.log.Archive(ctx, last, key)
	if err != nil {
		return err
	}
	chain, err := a.snapshot(ctx, last, key)
	if err != nil {
		return err
	}
	if err := a.d.Store.TakeSnapshot(last); err != nil {
		return err
	}
	if err := a.log.DropArchived(ctx, last, chain); err != nil {
		return err
	}
	a.logger.Info("a stretch of the log of changes is archived", "file", ref.File, "from", first, "to", last, "bytes", bytes, "took", time.Since(started))
	return store.DropSnapshots(a.o.Paths.Snapshots())
}

// room holds that what a stretch takes leaves the reserve free: the archive, which is smaller, and the fold.
func (a *archiver) room(bytes int64) error {
	free, err := a.d.Store.FreeBytes()
	if err == nil {
		err = a.fits(bytes, a.o.Paths.Data, free)
	}
	if err != nil {
		return err
	}
	dir := existing(a.o.Paths.Archives())
	if free, err = osfile.FreeBytes(dir); err != nil {
		return err
	}
	return a.fits(bytes, dir, free)
}

func (a *archiver) fits(bytes int64, dir string, free uint64) error {
	need := a.o.ReserveBytes + bytes
	if int64(min(free, 1<<62)) >= need {
		return nil
	}
	const says = "%s: %d bytes are free, and a stretch of %d bytes needs %d to be archived; free some space, or set archive-dir to another disk"
	return fmt.Errorf(says, dir, free, bytes, need)
}

// existing is a folder, or the first above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// unfinished does what a crash has left undone of a stretch that is archived: it leaves the log, and snapshots that are too
// many go.
func (a *archiver) unfinished(ctx context.Context) error {
	snapshots := a.d.Store.Snapshots()
	if len(snapshots) == 0 {
		return nil
	}
	newest := snapshots[0]
	if ends := a.log.BlockEnds(); len(ends) > 0 && ends[0].Last <= newest.Seq {
		if err := a.leave(ctx, newest); err != nil {
			return err
		}
	}
	return store.DropSnapshots(a.o.Paths.Snapshots())
}

// leave takes off the log what a snapshot and its archives have, after all of them are verified.
func (a *archiver) leave(ctx context.Context, newest *store.Snapshot) error {
	if err := newest.Check(); err != nil {
		return err
	}
	archives := a.d.Store.Archives()
	for _, ref := range newest.Archives {
		if ref.Last < a.log.First() {
			continue
		}
		if _, _, err := archives.CheckArchive(ctx, ref.File); err != nil {
			return err
		}
	}
	return a.log.DropArchived(ctx, newest.Seq, newest.Head)
}

// snapshot folds the state as of a sequence in a file of its own, from the newest snapshot before it on, and writes it.
func (a *archiver) snapshot(ctx context.Context, seq uint64, key *store.SigningKey) (chain [32]byte, err error) {
	s := a.d.Store
	dir, err := os.MkdirTemp(a.o.Paths.Data, foldsToArchive)
	if err != nil {
		return chain, err
	}
	defer os.RemoveAll(dir)
	db, err := node.FoldTo(ctx, s, filepath.Join(dir, datadir.StateFiles[0]), seq, a.logger)
	if err != nil {
		return chain, fmt.Errorf("fold the state as of %d: %w", seq, err)
	}
	defer db.Close()
	at, chain := db.Checkpoint()
	if at != seq {
		return chain, fmt.Errorf("fold the state as of %d: it is as of %d", seq, at)
	}
	return chain, store.WriteSnapshot(a.o.Paths.Snapshots(), seq, chain, s.Archives().Known(), key, func(w io.Writer) error {
		_, _, err := db.Snapshot(w)
		return err
	})
}
