package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
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
		in.report, in.start = all[i], all[i].start
		f.logs = append(f.logs, in.open(s, all[i].First))
	}
	return f
}

// Logs returns the logs of events, notifications and readings.
func (f *Files) Logs() []*Log { return f.logs }

// OpenArchives lets the log of changes read archived events from these folders, see [Options].
func (f *Files) OpenArchives(archiveDir, snapshotDir string) error {
	l := f.logs[0]
	if err := l.openArchives(archiveDir, snapshotDir); err != nil || l.manifest == nil {
		return err
	}
	l.manifest.fromArchives(&l.logReader)
	if start, known := l.manifest.start(); known {
		l.setFirst(start.First)
	}
	return nil
}

func offline(dir string) *Store {
	silent := slog.New(slog.DiscardHandler) // the reader returns the damage as an error
	return &Store{o: Options{Dir: dir, Logger: silent}, failed: make(chan error, 1)}
}

func (in *inspector) open(s *Store, first uint64) *Log {
	in.log.store = s
	if m, err := readManifest(s.o.Dir, in.log.name); err == nil { // Inspect names what is wrong with it
		if in.log.manifest = m; m.missing && in.start != nil {
			m.now.First = *in.start
		}
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

// Place is how far a follower has come: the last sequence of each stream, by the stream's name.
type Place map[string]uint64

// Ask asks a running server for the [Info] of its logs, by stream. If after is not nil, the server answers when a log goes on behind that
// place, or after a while.
type Ask func(ctx context.Context, after Place) (map[string]Info, error)

// OpenRunning opens the logs of a running server for reading: from the files in the store's folder, up to where the server says that they
// end.
func OpenRunning(ctx context.Context, dir string, ask Ask) (*Files, error) {
	s := &Store{o: Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, failed: make(chan error, 1), ask: ask}
	f := &Files{}
	for _, st := range streams {
		f.logs = append(f.logs, newLog(s, st))
	}
	return f, f.Refresh(ctx)
}

// Refresh asks the running server where the logs begin and end now.
func (f *Files) Refresh(ctx context.Context) error { return f.refresh(ctx, nil) }

func (f *Files) refresh(ctx context.Context, after Place) error {
	all, err := f.logs[0].store.ask(ctx, after)
	if err != nil {
		return err
	}
	for _, l := range f.logs {
		chain, ok := chainOf(all[l.name].Chain)
		if !ok {
			return fmt.Errorf("%s: the server does not say where it ends; use the ledge command of the server's version", l.name)
		}
		l.setFirst(all[l.name].First)
		l.setLast(all[l.name].Last, chain)
	}
	return nil
}

// followPause is the time between two reads of a follower: each reads the last block of a log from its beginning.
const followPause = 100 * time.Millisecond

// Follow calls each with what is on the logs of a running server, merged by time, and then with what is recorded, until ctx ends, which is
// no error, or each fails. It begins after the place seen, which it keeps up to date, and if that is empty at a sequence of the event
// stream. Nothing of a stream is left out or comes twice, also if Follow is called again with the same place.
func (f *Files) Follow(ctx context.Context, from uint64, seen Place, each func(Message) error) error {
	var after Place
	for ctx.Err() == nil {
		err := f.refresh(ctx, after)
		if err == nil {
			err = f.readOn(ctx, from, seen, each)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		after = seen
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
		}
	}
	return nil
}

// readOn reads from a place to the end, which becomes the place.
func (f *Files) readOn(ctx context.Context, from uint64, seen Place, each func(Message) error) (err error) {
	heads, stop, err := f.open(ctx, from, seen)
	if err != nil {
		return err
	}
	defer stop()
	merged(heads, func(m Message, failed error) bool {
		if err = failed; err == nil {
			err = each(m)
		}
		if err == nil {
			seen[f.logOf(m.Subject).name] = m.Seq
		}
		return err == nil
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	for _, l := range f.logs {
		seen[l.name], _ = l.Last() // retention may have removed the rest
	}
	return nil
}

// open opens the logs after the place seen. If that is empty, it becomes the one before what is read first.
func (f *Files) open(ctx context.Context, from uint64, seen Place) (heads []*head, stop func(), err error) {
	if len(seen) == 0 {
		heads, stop = openHeads(ctx, f.logs, from)
		if h := earliest(heads); h != nil && h.err != nil {
			stop()
			return nil, nil, h.err // seen stays empty
		}
		for i, l := range f.logs {
			if seen[l.name], _ = l.Last(); !heads[i].done {
				seen[l.name] = max(heads[i].message.Seq, 1) - 1
			}
		}
		return heads, stop, nil
	}
	starts := make([]uint64, len(f.logs))
	for i, l := range f.logs {
		if last, _ := l.Last(); last < seen[l.name] {
			return nil, nil, fmt.Errorf("%s ends at %d now, and %d was there: it is not the log that was followed", l.name, last, seen[l.name])
		}
		if starts[i] = seen[l.name] + 1; l.archives == nil {
			starts[i] = max(starts[i], l.First())
		}
	}
	heads, stop = openAt(ctx, f.logs, starts)
	return heads, stop, nil
}

// logOf returns the log that has a subject.
func (f *Files) logOf(subject string) *Log {
	for _, l := range f.logs {
		if strings.HasPrefix(subject, l.public) {
			return l
		}
	}
	return f.logs[0]
}
