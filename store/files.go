package store

import (
	"context"
	"log/slog"
)

// Files are the logs in a store's folder, for reading: no server is started and nothing is opened for writing. A server may run only
// beside those of [OpenRunning].
type Files struct{ logs []*Log }

// OpenFiles opens the logs in a store's folder. It reads the first record and the last block of each; [Log.Read] holds
// everything in between against checksums and the chain. An unfinished write at the end is left out. No process may write to the folder.
func OpenFiles(ctx context.Context, dir string) (*Files, error) {
	s := offline(dir)
	f := &Files{}
	for _, st := range streams {
		in := inspectorIn(dir, st)
		m, err := readManifest(dir, st.name)
		if err != nil {
			return nil, err
		}
		in.start = m.known()
		first, err := in.ends(ctx)
		if err != nil {
			return nil, err
		}
		f.logs = append(f.logs, in.open(s, first))
	}
	return f, nil
}

// OpenInspected opens the logs that Inspect has just read.
func OpenInspected(dir string, all []Inspection) *Files {
	s := offline(dir)
	f := &Files{}
	for i, st := range streams {
		in := inspectorIn(dir, st)
		in.report = all[i]
		f.logs = append(f.logs, in.open(s, all[i].First))
	}
	return f
}

// Logs returns the logs of events, notifications and readings.
func (f *Files) Logs() []*Log { return f.logs }

// OpenArchives lets the log of changes read archived events from these folders, see [Options].
func (f *Files) OpenArchives(archiveDir, snapshotDir string) error {
	return f.logs[0].openArchives(archiveDir, snapshotDir)
}

func offline(dir string) *Store {
	silent := slog.New(slog.DiscardHandler) // the reader returns the damage as an error
	return &Store{o: Options{Dir: dir, Logger: silent}, failed: make(chan error, 1)}
}

func (in *inspector) open(s *Store, first uint64) *Log {
	in.log.store = s
	if m, err := readManifest(s.o.Dir, in.log.name); err == nil { // Inspect names what is wrong with it
		in.log.manifest = m
	}
	in.log.setFirst(first)
	if first == 0 { // nothing is kept
		in.log.setFirst(in.report.Last + 1)
	}
	in.log.setLast(in.report.Last, in.report.Head)
	return in.log
}

// ends reads what tells where a log begins and ends: of the blocks that have events the first record of the first and all
// of the last.
func (in *inspector) ends(ctx context.Context) (first uint64, err error) {
	all, err := in.files.List()
	if err != nil {
		return 0, err
	}
	for i := len(all) - 1; i >= 0 && in.report.Last == 0; i-- {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := in.block(all[i]); err != nil {
			return 0, err
		}
		in.end()
		in.pending = nil
	}
	first = 1
	if len(all) > 0 && !in.log.forever { // a beginning that is damaged is for those who read it
		if r, err := in.files.First(all[0]); err == nil && r.IsMessage() {
			first = r.Seq()
		} else if in.report.Count == 0 {
			first = in.report.Last + 1
		}
	}
	if in.start != nil {
		first = max(first, in.start.First)
	}
	return first, nil
}
