// Package check verifies a data folder: the logs, the archives, the bodies, and that the state is a fold of the log. A server verifies its
// own by a [Verifier]. Salvage copies all that is whole into a new folder.
package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/secure"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/secrets"
)

// Folder verifies the folder of a node that does not run. It opens nothing in it for writing.
type Folder struct {
	Paths    datadir.Paths
	Key      *secrets.AgeKey // of secure.FindSecretKey
	Logger   *slog.Logger
	W        io.Writer
	Progress progressFunc
	Known    map[string][]store.Known // known facts about the logs that the folder lacks
	begun    map[string]uint64        // by stream: where they began, by the states
	nodes    map[string]string        // of the states

	states [3]stateFile
	Logs   []store.Inspection
	count  int   // of damages
	first  error // the first
}

// stateFile describes one of the StateFiles.
type stateFile struct {
	usable bool
	at     uint64 // its checkpoint
}

// Run verifies all of it, whatever is damaged, and returns the first damage.
func (f *Folder) Run(ctx context.Context) error {
	if err := f.InspectStates(); err != nil {
		return err
	}
	if err := f.InspectLogs(ctx); err != nil {
		return node.WithCode(err)
	}
	f.checkSecrets()
	if err := secure.CheckAuthority(f.Paths.Data); err != nil {
		f.damage(err)
	}
	if err := f.fold(ctx); err != nil {
		return err
	}
	return f.err()
}

// checkSecrets checks the secret store.
func (f *Folder) checkSecrets() {
	note, err := secure.CheckSecrets(f.Paths, f.Key)
	if err != nil {
		f.damage(err)
	}
	if note != "" {
		fmt.Fprintln(f.W, note)
	}
}

// damage takes note of a damage and prints it.
func (f *Folder) damage(err error) {
	if f.count++; f.first == nil {
		f.first = err
	}
	if fault, ok := errors.AsType[store.Fault](err); ok {
		fmt.Fprintln(f.W, "damaged: "+fault.String())
		return
	}
	fmt.Fprintf(f.W, "damaged: %v\n", err)
}

// err returns the first damage, and how many there are.
func (f *Folder) err() error {
	switch f.count {
	case 0:
		return nil
	case 1:
		return exit.With(exit.Damaged, f.first)
	}
	return exit.With(exit.Damaged, fmt.Errorf("%w (the first of %d damages)", f.first, f.count))
}

// InspectStates reads where the state files have come to: they are witnesses of how long the logs were.
func (f *Folder) InspectStates() error {
	known := map[string][]store.Known{}
	f.begun, f.nodes = map[string]uint64{}, map[string]string{}
	for name, list := range f.Known {
		known[name] = list
	}
	for i, file := range datadir.StateFiles {
		err := projections.Inspect(f.stateOptions(i), func(in *projections.Inspection) error {
			seq, chain := in.Checkpoint()
			f.states[i] = stateFile{true, seq}
			f.nodes[file] = in.Node()
			name := store.Streams()[i]
			if seq > 0 {
				known[name] = append(known[name], store.Known{By: "the projection's checkpoint", Seq: seq, Chain: chain})
			}
			if i == 0 || seq == 0 {
				return nil
			}
			var err error
			if f.begun[name], err = in.FirstWritten(); err != nil || i != 1 {
				return err
			}
			at, err := projections.Follows(in)
			if at > 0 {
				known[store.EventsStream] = append(known[store.EventsStream], store.Known{By: store.FollowsBy, Seq: at})
			}
			return err
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(f.W, "%s: not there; the next start folds it from the log\n", file)
		case errors.Is(err, projections.ErrUnused):
			fmt.Fprintf(f.W, "%s: not compared: %v; the next start folds it from the log\n", file, err)
		case errors.Is(err, fs.ErrPermission):
			return exit.With(exit.Folder, err)
		case err != nil:
			f.stateDamage(file, err)
		}
	}
	f.Known = known
	return nil
}

func (f *Folder) stateDamage(file string, err error) {
	f.damage(fmt.Errorf("%s is damaged: %w; `ledge rebuild` folds it again from the log", filepath.Join(f.Paths.Data, file), err))
}

func (f *Folder) stateOptions(i int) projections.Options {
	return projections.Options{Path: filepath.Join(f.Paths.Data, datadir.StateFiles[i]), Tables: node.Tables[i], Logger: f.Logger}
}

// InspectLogs reads every record of the logs.
func (f *Folder) InspectLogs(ctx context.Context) (err error) {
	f.Logs, err = store.Inspect(ctx, f.Paths.Log(), store.InspectOptions{
		Known: f.Known, Begun: f.begun, Nodes: f.nodes, ArchiveDir: f.Paths.Archives(), SnapshotDir: f.Paths.Snapshots(),
		Progress: func(done, total int64) { f.Progress("records", done, total) },
	})
	for _, in := range f.Logs {
		for _, fault := range in.Faults {
			f.damage(fault)
		}
		if len(in.Faults) > 0 {
			f.count += in.More
			fmt.Fprintf(f.W, "%s: damaged, %d events are left of %d to %d\n", in.Stream, in.Count, in.First, in.Last)
		}
		if in.Torn != nil {
			fmt.Fprintf(f.W, "%s: %d bytes of an unfinished write at the end, in %d.blk at offset %d; the next start cuts them off and keeps them\n",
				in.Stream, in.Torn.Bytes, in.Torn.Block, in.Torn.Offset)
		}
		if in.NoManifest {
			fmt.Fprintf(f.W, "%s.manifest: not there; the next start reads the whole log and writes it\n", in.Stream)
		}
		if in.Meta != "" {
			fmt.Fprintf(f.W, "%s: %s; the next start writes both again\n", in.Stream, in.Meta)
		}
	}
	return err
}

// fold decodes the events of the logs that are whole and compares what they make with the state and the bodies.
func (f *Folder) fold(ctx context.Context) error {
	files := store.OpenInspected(f.Paths.Log(), f.Logs)
	b, err := OpenBodies(f.Paths, files.Logs()[2], f.Logger, f.Progress)
	if err != nil {
		return err
	}
	defer b.Close()
	archived, err := verifyArchives(ctx, f.Paths, files.Logs()[0], f.W)
	if err != nil {
		return err
	}
	if archived != nil {
		f.count++
		if f.first == nil {
			f.first = archived
		}
	}
	if f.Logs[0].Damage() == nil {
		err := node.CheckFoldable(ctx, f.Paths, files.Logs()[0], f.states[0].at)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			f.damage(err)
		}
	}
	for i, in := range f.Logs {
		if in.Damage() != nil {
			fmt.Fprintf(f.W, "%s: not compared: %s is damaged\n", datadir.StateFiles[i], in.Stream)
			continue
		}
		var each func([]domain.Recorded) error
		if i == 2 {
			each = b.Take
		}
		if err := f.foldOne(ctx, i, files.Logs()[i], each); err != nil {
			return err
		}
	}
	if f.Logs[2].Damage() != nil {
		fmt.Fprintf(f.W, "payloads: not compared: %s is damaged\n", f.Logs[2].Stream)
		return nil
	}
	if err := b.verify(ctx, f.W); err != nil {
		return err
	}
	if err := b.damage(); err != nil {
		f.count++ // its text has how many there are
		if f.first == nil {
			f.first = err
		}
	}
	return nil
}

// foldOne decodes one log, and compares its state file with what it makes.
func (f *Folder) foldOne(ctx context.Context, i int, log *store.Log, each func([]domain.Recorded) error) error {
	state := f.states[i]
	var fresh *projections.DB
	var from uint64 // what is in fresh already
	if state.usable {
		db, remove, err := f.freshBase(i, log)
		if err != nil {
			return node.WithCode(err)
		}
		if fresh = db; fresh != nil {
			defer remove()
			from, _ = fresh.Checkpoint()
		}
	}
	compares := fresh != nil && from <= state.at
	last, _ := log.Last()
	follows := uint64(0)
	r, err := log.Verify(ctx, func(group []domain.Recorded) error {
		f.Progress(log.Name(), int64(group[0].Seq), int64(last))
		if each != nil {
			if err := each(group); err != nil {
				return err
			}
		}
		for _, e := range group {
			follows = max(follows, domain.Follows(e.Event))
		}
		for len(group) > 0 && group[len(group)-1].Seq > state.at {
			group = group[:len(group)-1]
		}
		for len(group) > 0 && group[0].Seq <= from {
			group = group[1:]
		}
		if fresh == nil {
			return nil
		}
		return fresh.Apply(group)
	})
	switch {
	case store.IsDamage(err):
		f.damage(err)
		return nil
	case err != nil:
		return node.WithCode(err)
	}
	printWhole(f.W, newStream(r))
	if end := f.Logs[0]; follows > end.Last && end.Damage() == nil { // else it has been said
		f.damage(node.NewLostChanges(end.Last, follows))
	}
	switch {
	case compares:
		return f.compare(i, log, fresh)
	case state.usable && i == 0:
		fmt.Fprintf(f.W, "%s: not compared: the beginning of %s is archived, and there is no whole snapshot of the state as of event %d\n", datadir.StateFiles[i], log.Name(), log.First()-1)
		return f.readState(i)
	case state.usable: // what the beginning told the state is not on the log any more
		fmt.Fprintf(f.W, "%s: not compared: retention has removed the beginning of %s\n", datadir.StateFiles[i], log.Name())
		return f.readState(i)
	}
	return nil
}

// freshBase opens a file to fold a log into: an empty one, or one from the snapshot of the state before the first event on the log, if the
// first changes are archived. It is nil without such a snapshot.
func (f *Folder) freshBase(i int, log *store.Log) (db *projections.DB, remove func(), err error) {
	if log.First() == 1 {
		return node.OpenFresh(datadir.StateFiles[i], node.Tables[i], f.Logger)
	}
	if i > 0 {
		return nil, nil, nil
	}
	snapshot, err := store.OpenSnapshot(f.Paths.Snapshots(), log.First()-1)
	if err == nil {
		err = snapshot.Check()
	}
	if err != nil {
		return nil, nil, nil //nolint:nilerr // verifyArchives has named it
	}
	return node.OpenRestored(snapshot, f.Logger)
}

// compare compares a state file with a fold of its log up to the file's checkpoint.
func (f *Folder) compare(i int, log *store.Log, fresh *projections.DB) error {
	want := sha256.New()
	if err := fresh.Dump(want); err != nil {
		return err
	}
	got := sha256.New()
	if err := projections.Inspect(f.stateOptions(i), func(in *projections.Inspection) error { return in.Dump(got) }); err != nil {
		f.stateDamage(datadir.StateFiles[i], err)
		return nil
	}
	if !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		f.damage(fmt.Errorf("%s is not the fold of %s; run `ledge rebuild`", datadir.StateFiles[i], log.Name()))
		return nil
	}
	fmt.Fprintf(f.W, "%s: equals the fold of %s\n", datadir.StateFiles[i], log.Name())
	return nil
}

// readState reads a state file that cannot be compared.
func (f *Folder) readState(i int) error {
	if err := projections.Inspect(f.stateOptions(i), func(in *projections.Inspection) error { return in.Dump(io.Discard) }); err != nil {
		f.stateDamage(datadir.StateFiles[i], err)
	}
	return nil
}
