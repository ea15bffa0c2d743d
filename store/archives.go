package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ledge/store/osfile"
)

// ArchiveRef names an archive and the events in it.
type ArchiveRef struct {
	File  string `json:"file"`
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// SHA256 is the digest, in hex, of the file without its seal; empty where only the name is known.
	SHA256 string `json:"sha256,omitempty"`
}

// Gap is the error for archived events whose archive is missing in the folder, or damaged.
type Gap struct {
	Stream string
	ArchiveRef
	Dir    string
	Damage error // nil where the archive is missing
}

func (g *Gap) Error() string {
	if g.Damage != nil {
		return fmt.Sprintf("%s: events %d to %d are in an archive that is damaged: %v; restore the file from a backup", g.Stream, g.First, g.Last, g.Damage)
	}
	in := "an archive that is"
	if g.File != "" {
		in = "archive " + g.File + ", which is"
	}
	return fmt.Sprintf("%s: events %d to %d are in %s not in %s; put it there, or set archive-dir to where it is", g.Stream, g.First, g.Last, in, g.Dir)
}

// Archives are the archives of the log of changes.
type Archives struct {
	dir string
	log *logReader // for its names

	mu    sync.Mutex
	known []ArchiveRef // all that were ever made, as the newest snapshot lists them
}

// OpenArchives looks at a folder, which need not exist. known are the archives that were made, in the folder or not.
func OpenArchives(dir string, known []ArchiveRef) *Archives {
	return &Archives{dir: dir, log: &newLog(&Store{o: Options{Logger: slog.Default()}}, streams[0]).logReader, known: known}
}

// Known returns all archives that were ever written, the oldest first.
func (a *Archives) Known() []ArchiveRef {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.known)
}

// add takes note of an archive that was made, in place of those that a crash has left beside or behind it.
func (a *Archives) add(ref ArchiveRef) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = append(slices.DeleteFunc(slices.Clone(a.known), func(other ArchiveRef) bool { return other.First >= ref.First }), ref)
}

// List returns the archives in the folder by their names, the oldest first.
func (a *Archives) List() (list []ArchiveRef, err error) {
	files, err := os.ReadDir(a.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("archives: %w", err)
	}
	for _, f := range files {
		if first, last, ok := archiveSpan(a.log.name, f.Name()); ok {
			list = append(list, ArchiveRef{File: f.Name(), First: first, Last: last})
		}
	}
	slices.SortFunc(list, func(a, b ArchiveRef) int { return strings.Compare(a.File, b.File) })
	return list, nil
}

// Bytes returns the size of the archives in the folder.
func (a *Archives) Bytes() (sum int64, err error) {
	list, err := a.List()
	for _, ref := range list {
		if st, err := os.Stat(filepath.Join(a.dir, ref.File)); err == nil {
			sum += st.Size()
		}
	}
	return sum, err
}

// at returns the archive that has an event: of several, the one that goes furthest.
func at(list []ArchiveRef, seq uint64) (found ArchiveRef, ok bool) {
	for _, ref := range list {
		if ref.First <= seq && seq <= ref.Last && ref.Last > found.Last {
			found, ok = ref, true
		}
	}
	return found, ok
}

// Gaps returns what is not in the folder of the events from one sequence to another.
func (a *Archives) Gaps(from, to uint64) (gaps []*Gap, err error) {
	list, err := a.List()
	if err != nil {
		return nil, err
	}
	to = min(to, math.MaxUint64-1) // so that the one after it is a sequence
	for known := a.Known(); from <= to; {
		if ref, ok := at(list, from); ok {
			from = ref.Last + 1
			continue
		}
		end := to
		for _, ref := range list {
			if ref.First > from {
				end = min(end, ref.First-1)
			}
		}
		ref, ok := at(known, from)
		if !ok {
			ref = ArchiveRef{Last: end}
		}
		ref.First, ref.Last = from, min(end, ref.Last)
		gaps = append(gaps, &Gap{a.log.name, ref, a.dir, nil})
		from = ref.Last + 1
	}
	return gaps, nil
}

// read sends pages of the events from one sequence to another, until send says no. Where the archive of an event is not
// there, or damaged, skip is told, or, where it is nil, the error is a [Gap]. Memory is bounded by a page.
func (a *Archives) read(ctx context.Context, from, to uint64, skip func(*Gap), send func(page) bool) error {
	for from <= to && ctx.Err() == nil {
		list, err := a.List()
		if err != nil {
			return err
		}
		var gaps []*Gap
		if ref, ok := at(list, from); ok {
			end := min(to, ref.Last)
			from, err = a.readOne(ctx, ref, from, end, send)
			if errors.Is(err, errSealed) || osfile.Unreadable(err) {
				gaps, err = []*Gap{{a.log.name, ArchiveRef{File: ref.File, First: from, Last: end}, a.dir, err}}, nil
			}
		} else {
			gaps, err = a.Gaps(from, to)
		}
		switch {
		case err != nil:
			return err
		case len(gaps) == 0 || gaps[0].First > from: // the archive was read, or put there between the two looks
			continue
		case skip == nil:
			return gaps[0]
		}
		skip(gaps[0])
		from = gaps[0].Last + 1
	}
	return ctx.Err()
}

// readOne sends pages of one archive. It returns the sequence behind the last one that was sent.
func (a *Archives) readOne(ctx context.Context, ref ArchiveRef, from, to uint64, send func(page) bool) (next uint64, err error) {
	r, err := openArchive(a.log, filepath.Join(a.dir, ref.File))
	if err != nil {
		return from, fmt.Errorf("archive: %w", err)
	}
	defer r.close()
	var p page
	bytes := 0
	for ctx.Err() == nil {
		m, err := r.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return from, fmt.Errorf("archive: %w", err)
		}
		ended := err != nil || m.Seq > to
		if !ended && m.Seq >= from {
			p.messages, bytes = append(p.messages, m), bytes+len(m.Data)
		}
		if full := len(p.messages) == pageEvents || bytes >= pageBytes; len(p.messages) > 0 && (full || ended) {
			if !send(p) {
				return from, context.Canceled
			}
			from = p.messages[len(p.messages)-1].Seq + 1
			p, bytes = page{}, 0
		}
		if ended {
			return to + 1, nil
		}
	}
	return from, ctx.Err()
}

// openArchives opens the archives that the newest snapshot lists. It skips a snapshot that cannot be used, with a warning: the
// one before, or the archives themselves, may be enough.
func (l *logReader) openArchives(archiveDir, snapshotDir string) error {
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
