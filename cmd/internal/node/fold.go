package node

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

// FoldTo folds the state of the log of changes as of a sequence into a new file: from the newest snapshot that is not beyond
// it, or from event 1 through the archives if there is none.
func FoldTo(ctx context.Context, s *store.Store, path string, seq uint64, logger *slog.Logger) (*projections.DB, error) {
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

// OpenRestored opens a projection with what is in a snapshot, in a temporary folder of its own, and returns what removes it.
func OpenRestored(s *store.Snapshot, logger *slog.Logger) (*projections.DB, func(), error) {
	tmp, err := os.MkdirTemp("", Folds)
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
func (n *Node) refill(ctx context.Context, paths datadir.Paths, p *Part) error {
	seq, _ := p.State.Checkpoint()
	first := p.Log.First()
	if p.Tables != projections.Events || seq+1 >= first {
		return nil
	}
	path := filepath.Join(paths.Data, p.File)
	if err := p.State.Close(); err != nil {
		return err
	}
	last, _ := p.Log.Last()
	err := restoreSnapshot(n.Store, path, first-1, last, n.Logger)
	switch {
	case errors.Is(err, errNoSnapshot):
		if err := CheckFoldable(ctx, paths, p.Log, seq); err != nil {
			return err
		}
		n.Logger.Warn("the state is folded from the archives, because there is no snapshot of it that can be used", "file", path, "from", seq+1, "to", first-1)
	case err != nil:
		return err
	default:
		n.Logger.Info("the state begins with a snapshot, because its first events are archived", "file", path)
	}
	db, err := projections.Open(n.stateOptions(path, p.Tables))
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	p.State = db
	n.onClose(db.Close)
	return nil
}

// CheckFoldable holds that the state can be folded from the event behind seq on: what is not on the log any more is in a whole snapshot of
// the state, or in whole archives.
func CheckFoldable(ctx context.Context, paths datadir.Paths, log *store.Log, seq uint64) error {
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

// Folds are the names of the folders of fresh folds.
const Folds = "ledge-verify-*"

// OpenFresh opens an empty projection in a temporary folder of its own, and returns what removes it.
func OpenFresh(file string, tables projections.Tables, logger *slog.Logger) (*projections.DB, func(), error) {
	tmp, err := os.MkdirTemp("", Folds)
	if err != nil {
		return nil, nil, fmt.Errorf("temporary folder: %w; set TMPDIR to one that can be written", err)
	}
	fresh, err := projections.Open(projections.Options{Path: filepath.Join(tmp, file), Tables: tables, Logger: logger})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return fresh, func() { _, _ = fresh.Close(), os.RemoveAll(tmp) }, nil
}
