package store

import (
	"slices"
)

// mount opens the archives, and takes from the newest snapshot which there are. A snapshot that cannot be used is left
// out with a warning: the one before, or the archives themselves, may do.
func (l *Log) mount(archiveDir, snapshotDir string) error {
	if archiveDir == "" || snapshotDir == "" {
		return nil
	}
	list, err := Snapshots(snapshotDir)
	if err != nil {
		return err
	}
	l.archives = OpenArchives(archiveDir, nil)
	for _, seq := range list {
		s, err := OpenSnapshot(snapshotDir, seq)
		if err != nil {
			l.store.o.Logger.Warn("snapshot of the state cannot be used; restore it from a backup", "seq", seq, "error", err)
			continue
		}
		l.snapshots = append(l.snapshots, s)
	}
	if len(l.snapshots) > 0 {
		l.archives.known = l.snapshots[0].Archives
	}
	return nil
}

// SkipGaps has reads go on behind archives that are missing, after f was told of each; else that is the end of a read.
func (l *Log) SkipGaps(f func(*Gap)) { l.skipGap = f }

// Mount lets the tap's log of changes read what is archived, as [Options] say of the folders.
func (t *Tap) Mount(archiveDir, snapshotDir string) error {
	return t.logs[0].mount(archiveDir, snapshotDir)
}

// Archives are those of the log of changes; nil where no folder for them is set.
func (s *Store) Archives() *Archives { return s.logs[0].archives }

// Snapshots are those that can be used, the newest first.
func (s *Store) Snapshots() []*Snapshot {
	l := s.logs[0]
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.snapshots)
}

// TakeSnapshot takes note of a snapshot that was written.
func (s *Store) TakeSnapshot(seq uint64) error {
	one, err := OpenSnapshot(s.o.SnapshotDir, seq)
	if err != nil {
		return err
	}
	l := s.logs[0]
	l.mu.Lock()
	defer l.mu.Unlock()
	older := slices.DeleteFunc(slices.Clone(l.snapshots), func(s *Snapshot) bool { return s.Seq >= seq })
	l.snapshots = append([]*Snapshot{one}, older[:min(len(older), keptSnapshots-1)]...)
	return nil
}
