package store

import (
	"slices"
)

// openArchives opens the archives that the newest snapshot lists. It skips a snapshot that cannot be used, with a warning: the
// one before, or the archives themselves, may be enough.
func (l *Log) openArchives(archiveDir, snapshotDir string) error {
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

// SkipGaps makes reads call f for each archive that is missing or damaged and continue behind it. Without it, a read ends there.
func (l *Log) SkipGaps(f func(*Gap)) { l.skipGap = f }

// Archives returns the archives of the log of changes, or nil if no folder for them is set.
func (s *Store) Archives() *Archives { return s.logs[0].archives }

// Snapshots returns the usable snapshots, the newest first.
func (s *Store) Snapshots() []*Snapshot {
	l := s.logs[0]
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.snapshots)
}

// TakeSnapshot adds a snapshot that was written to [Store.Snapshots].
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
