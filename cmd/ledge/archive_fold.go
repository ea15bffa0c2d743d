package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// snapshot folds the state as of a sequence in a file of its own, from the newest snapshot before it on, and writes it.
func (a *archiver) snapshot(ctx context.Context, seq uint64, key *store.SigningKey) (chain [32]byte, err error) {
	s := a.d.store
	dir, err := os.MkdirTemp(a.c.DataDir, foldsToArchive)
	if err != nil {
		return chain, err
	}
	defer os.RemoveAll(dir)
	db, err := foldTo(ctx, s, filepath.Join(dir, datadir.StateFiles[0]), seq, a.logger)
	if err != nil {
		return chain, fmt.Errorf("fold the state as of %d: %w", seq, err)
	}
	defer db.Close()
	at, chain := db.Checkpoint()
	if at != seq {
		return chain, fmt.Errorf("fold the state as of %d: it is as of %d", seq, at)
	}
	return chain, store.WriteSnapshot(a.c.Paths().Snapshots(), seq, chain, s.Archives().Known(), key, func(w io.Writer) error {
		_, _, err := db.Snapshot(w)
		return err
	})
}

// foldTo folds the state of the log of changes as of a sequence into a new file: from the newest snapshot that is not beyond
// it, or, where there is none, from event 1 through the archives.
func foldTo(ctx context.Context, s *store.Store, path string, seq uint64, logger *slog.Logger) (*projections.DB, error) {
	if err := restoreSnapshot(s, path, 0, seq, logger); err != nil && !errors.Is(err, errNoSnapshot) {
		return nil, err
	}
	db, err := projections.Open(projections.Options{Path: path, Tables: projections.Events, Logger: logger})
	if err != nil {
		return nil, err
	}
	at, _ := db.Checkpoint()
	for r, err := range s.Events().Read(ctx, at+1, seq) {
		if err == nil {
			err = db.Apply([]domain.Recorded{r})
		}
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// restoredFold opens a projection with what is in a snapshot, in a temporary folder of its own, and returns what removes it.
func restoredFold(s *store.Snapshot, logger *slog.Logger) (*projections.DB, func(), error) {
	tmp, err := os.MkdirTemp("", folds)
	if err != nil {
		return nil, nil, fmt.Errorf("temporary folder: %w; set TMPDIR to one that can be written", err)
	}
	o := projections.Options{Path: filepath.Join(tmp, datadir.StateFiles[0]), Tables: projections.Events, Logger: logger}
	err = s.Read(func(r io.Reader) error { return projections.Restore(o, r, s.Seq, s.Head) })
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(tmp))
	}
	fresh, err := projections.Open(o)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return fresh, func() { _, _ = fresh.Close(), os.RemoveAll(tmp) }, nil
}

// errNoSnapshot says that there is no snapshot that can be used.
var errNoSnapshot = errors.New("there is no snapshot of the state")

// restoreSnapshot makes a state file of the newest whole snapshot from one sequence to another.
func restoreSnapshot(s *store.Store, path string, from, to uint64, logger *slog.Logger) error {
	for _, snapshot := range s.Snapshots() {
		if snapshot.Seq < from || snapshot.Seq > to {
			continue
		}
		if err := snapshot.Check(); err != nil {
			logger.Warn("snapshot of the state cannot be used; restore it from a backup", "seq", snapshot.Seq, "error", err)
			continue
		}
		return snapshot.Read(func(r io.Reader) error {
			return projections.Restore(projections.Options{Path: path, Tables: projections.Events, Logger: logger}, r, snapshot.Seq, snapshot.Head)
		})
	}
	return errNoSnapshot
}

// refill brings the state file to where the log begins, if it is behind that: the events before are archived. It reopens
// the file that it replaces.
func (d *data) refill(ctx context.Context, paths datadir.Paths, p projection) (*projections.DB, error) {
	seq, _ := p.db.Checkpoint()
	first := p.log.First()
	if p.tables != projections.Events || seq+1 >= first {
		return p.db, nil
	}
	path := filepath.Join(paths.Data, p.file)
	if err := p.db.Close(); err != nil {
		return nil, err
	}
	last, _ := p.log.Last()
	err := restoreSnapshot(d.store, path, first-1, last, d.logger)
	switch {
	case errors.Is(err, errNoSnapshot):
		if err := foldable(ctx, paths, p.log, seq); err != nil {
			return nil, err
		}
		d.logger.Warn("the state is folded from the archives, because there is no snapshot of it that can be used", "file", path, "from", seq+1, "to", first-1)
	case err != nil:
		return nil, err
	default:
		d.logger.Info("the state begins with a snapshot, because its first events are archived", "file", path)
	}
	db, err := projections.Open(d.stateOptions(path, p.tables))
	if err != nil {
		return nil, exit.With(exit.Folder, err)
	}
	d.state = db
	d.onClose(db.Close)
	return db, nil
}

// foldable holds that the state can be folded from the event behind seq on: what is not on the log any more is in a whole snapshot of the
// state, or in whole archives.
func foldable(ctx context.Context, paths datadir.Paths, log *store.Log, seq uint64) error {
	first := log.First()
	last, _ := log.Last()
	if seq+1 >= first {
		return nil
	}
	list, err := store.Snapshots(paths.Snapshots())
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	var known []store.ArchiveRef
	for _, at := range list {
		s, err := store.OpenSnapshot(paths.Snapshots(), at)
		if err != nil {
			continue // verify names it
		}
		if at+1 >= first && at <= last && s.Check() == nil {
			return nil
		}
		if known == nil {
			known = s.Archives
		}
	}
	archives := store.OpenArchives(paths.Archives(), known)
	gaps, err := archives.Gaps(seq+1, first-1)
	if err == nil && len(gaps) > 0 {
		err = gaps[0]
	}
	for at := seq + 1; err == nil && at < first; {
		if at, err = archives.CheckFrom(ctx, at); err != nil {
			err = fmt.Errorf("%w; restore the file from a backup", err)
		}
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return exit.With(exit.Damaged, fmt.Errorf("the state cannot be folded from event %d on: the log begins at %d, and %s has no whole snapshot of the state as of event %d or later: %w; or restore the snapshot from a backup", seq+1, first, paths.Snapshots(), first-1, err))
}
