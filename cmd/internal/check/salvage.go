package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/identities"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/secure"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/osfile"
	"ledge/store/payloads"
	"ledge/store/secrets"
)

// SalvageOptions are the input of a salvage.
type SalvageOptions struct {
	Node     node.Options // of the damaged folder
	To       string       // the new folder
	Out      io.Writer
	Progress func(text string, done, total int64)
}

// Salvage copies the undamaged data of a stopped node into a new folder. The error has the code [exit.Partial] if something
// is left out.
func Salvage(ctx context.Context, o SalvageOptions) error {
	return (&salvaging{options: o.Node, from: o.Node.Paths, to: o.To, logger: o.Node.Logger, out: o.Out, progress: o.Progress}).run(ctx)
}

// salvaging is one run of `ledge salvage`.
type salvaging struct {
	options  node.Options // of the damaged folder
	from     datadir.Paths
	to       string
	logger   *slog.Logger
	out      io.Writer
	progress progressFunc

	key     *secrets.AgeKey
	target  datadir.Paths // of the new folder
	report  *os.File
	partial bool // something is left out
}

func (s *salvaging) run(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	var err error
	if s.key, err = secure.FindSecretKey(s.from.Data); err != nil { // before Lock, which may take rights away
		return err
	}
	lock, err := datadir.Hold(s.from.Data)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := datadir.MakeLike(s.to, s.from.Data); err != nil {
		return exit.With(exit.Folder, err)
	}
	own, err := datadir.Lock(s.to)
	if err != nil {
		return err
	}
	defer own.Release()
	if err := s.copy(ctx); err != nil {
		return fmt.Errorf("%s is not complete, remove it: %w", s.to, err)
	}
	if s.partial {
		return exit.With(exit.Partial, fmt.Errorf("not all of %s was whole: %s lists what is left out of %s", s.from.Data, s.report.Name(), s.to))
	}
	fmt.Fprintf(s.out, "all was whole\n")
	return nil
}

// check refuses folders that do not fit.
func (s *salvaging) check() error {
	if err := datadir.MustExist(s.from.Data); err != nil {
		return err
	}
	if err := datadir.MustBeNew(s.to); err != nil {
		return err
	}
	s.target = datadir.Paths{Data: s.to, ArchiveDir: s.from.ArchiveDir}
	inside, err := filepath.Rel(s.from.Data, s.to)
	if err == nil && filepath.IsLocal(inside) {
		return exit.With(exit.Usage, fmt.Errorf("%s is in %s, which is not changed; choose another folder", s.to, s.from.Data))
	}
	return nil
}

// copy makes the new folder, and holds that it is whole.
func (s *salvaging) copy(ctx context.Context) (err error) {
	if s.report, err = os.OpenFile(filepath.Join(s.to, "salvage.txt"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.report.Sync(), s.report.Close()) }()
	s.say("salvaged from %s at %s", s.from.Data, time.Now().UTC().Format(time.RFC3339))
	source := &Folder{Paths: s.from, Key: s.key, Logger: s.logger, W: io.Discard, Progress: s.progress}
	if err := source.InspectStates(); err != nil {
		return err
	}
	if err := source.InspectLogs(ctx); err != nil {
		return node.WithCode(err)
	}
	lost, err := s.copyPayloads(ctx)
	if err != nil {
		return err
	}
	if err := s.copySecrets(); err != nil {
		return err
	}
	if err := s.copyAuthority(); err != nil {
		return err
	}
	if err := s.copySnapshots(); err != nil {
		return err
	}
	if err := s.copyArchives(ctx); err != nil {
		return err
	}
	streams, err := s.copyLogs(ctx, source.Logs)
	if err != nil {
		return err
	}
	if streams, err = s.extend(ctx, source, streams); err != nil {
		return err
	}
	s.tell(source.Logs, streams, lost)
	if err := s.startStore(ctx); err != nil {
		return err
	}
	if err := s.copyState(ctx, source, streams[0]); err != nil {
		return err
	}
	if err := (&Folder{Paths: s.target, Key: s.key, Logger: s.logger, W: io.Discard, Progress: s.progress}).Run(ctx); err != nil {
		return fmt.Errorf("what was copied is not whole: %w", err)
	}
	return osfile.SyncDir(s.to)
}

// say writes a line to the terminal and to the report.
func (s *salvaging) say(format string, args ...any) {
	line := fmt.Sprintf(format+"\n", args...)
	fmt.Fprint(io.MultiWriter(s.out, s.report), line)
}

// startStore opens the store of the new folder as a server does, and closes it.
func (s *salvaging) startStore(ctx context.Context) error {
	o := s.options
	o.Paths = s.target
	opened, err := store.Open(ctx, node.StoreOptions(o))
	if err != nil {
		return node.WithCode(err)
	}
	return opened.Close()
}

// copyLogs writes the logs. If bodies are lost, it writes them again without the readings of these.
func (s *salvaging) copyLogs(ctx context.Context, all []store.Inspection) ([]store.Salvaged, error) {
	o := store.SalvageOptions{NewID: uuid.NewString, Now: time.Now(), Logger: s.logger}
	streams, err := store.Salvage(ctx, s.from.Log(), s.target.Log(), all, o)
	if err != nil {
		return nil, err
	}
	lost, err := s.lostBodies(ctx)
	if err != nil || len(lost) == 0 {
		return streams, err
	}
	o.Drop = func(e domain.Event) string {
		for _, digest := range digestsOf(e) {
			if lost[digest] {
				return "its body " + digest + " is lost"
			}
		}
		return ""
	}
	return store.Salvage(ctx, s.from.Log(), s.target.Log(), all, o)
}

// extend writes the logs again if the notifications in the new folder follow an event behind the end of the changes, whose end is lost
// then. No state file has said so.
func (s *salvaging) extend(ctx context.Context, source *Folder, streams []store.Salvaged) ([]store.Salvaged, error) {
	files, err := store.OpenFiles(ctx, s.target.Log())
	if err != nil {
		return nil, node.WithCode(err)
	}
	follows := uint64(0)
	_, err = files.Logs()[1].Verify(ctx, func(group []domain.Recorded) error {
		for _, e := range group {
			follows = max(follows, domain.Follows(e.Event))
		}
		return nil
	})
	if last, _ := files.Logs()[0].Last(); err != nil || follows <= last {
		return streams, node.WithCode(err)
	}
	source.Known[store.EventsStream] = append(source.Known[store.EventsStream], store.Known{By: store.FollowsBy, Seq: follows})
	if err := source.InspectLogs(ctx); err != nil {
		return nil, node.WithCode(err)
	}
	return s.copyLogs(ctx, source.Logs)
}

// lostBodies returns the digests of the bodies that readings in the new folder need and that are not there.
func (s *salvaging) lostBodies(ctx context.Context) (map[string]bool, error) {
	all, err := store.Inspect(ctx, s.target.Log(), store.InspectOptions{})
	if err != nil {
		return nil, err
	}
	log := store.OpenInspected(s.target.Log(), all).Logs()[2]
	b, err := OpenBodies(s.target, log, s.logger, func(string, int64, int64) {})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if _, err = log.Verify(ctx, b.Take); err == nil {
		err = b.verify(ctx, io.Discard)
	}
	return b.lost, err
}

// digestsOf returns which bodies an event refers to.
func digestsOf(e domain.Event) (list []string) {
	switch e := e.(type) {
	case domain.ReadingPosted:
		list = append(list, e.Digest)
	case domain.DataEventAdded:
		for _, r := range e.Readings {
			list = append(list, r.Digest)
		}
	}
	return list
}

// copyPayloads copies the files whose bytes have the SHA-256 that is their name, and returns the names of the others.
func (s *salvaging) copyPayloads(ctx context.Context) (lost []string, err error) {
	if err := datadir.Make(s.target.Payloads()); err != nil {
		return nil, err
	}
	for names, err := range payloads.Names(s.from.Payloads()) {
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			fault, err := datadir.CopyPayload(ctx, s.from.Payloads(), s.target.Payloads(), name)
			if err != nil {
				return nil, err
			}
			if fault != "" {
				s.partial = true
				lost = append(lost, fmt.Sprintf("payloads/%s: %s", name, fault))
			}
		}
	}
	return lost, osfile.SyncDir(s.target.Payloads())
}

// copySecrets copies the secrets if they can be read.
func (s *salvaging) copySecrets() error {
	text, err := osfile.Read(s.from.Secrets(), secrets.MaxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = secure.CheckSecrets(s.from, s.key)
	}
	if err != nil {
		s.partial = true
		s.say("secrets are left out: %v", err)
		return nil
	}
	if err := osfile.Write(s.target.Secrets(), text); err != nil {
		return err
	}
	return identities.RefuseOldLogins(s.target.Data) // the event that removed a user may be lost
}

// copyAuthority copies the local CA if it is whole.
func (s *salvaging) copyAuthority() error {
	if err := secure.CheckAuthority(s.from.Data); err != nil {
		s.partial = true
		s.say("the local CA is left out: %v", err)
		return nil
	}
	for _, name := range []string{certs.CAKeyFile, certs.CAFile} {
		text, err := osfile.Read(filepath.Join(s.from.Data, name), secrets.MaxFileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = osfile.Write(filepath.Join(s.target.Data, name), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copySnapshots copies the snapshots of the state that are whole: a log whose first changes are archived is folded from them.
func (s *salvaging) copySnapshots() error {
	list, err := store.Snapshots(s.from.Snapshots())
	if err != nil || len(list) == 0 {
		return err
	}
	if err := datadir.Make(s.target.Snapshots()); err != nil {
		return err
	}
	for _, seq := range list {
		snapshot, err := store.OpenSnapshot(s.from.Snapshots(), seq)
		if err == nil {
			err = snapshot.Check()
		}
		if err != nil {
			s.partial = true
			s.say("a snapshot of the state is left out: %v", err)
			continue
		}
		if err := store.CopyFile(snapshot.Path(), filepath.Join(s.target.Snapshots(), filepath.Base(snapshot.Path())), -1); err != nil {
			return err
		}
	}
	return osfile.SyncDir(s.target.Snapshots())
}

// copyArchives copies the archives that are whole, and the key that signs the next one. Archives in a folder of their own stay there.
func (s *salvaging) copyArchives(ctx context.Context) error {
	key, err := store.ReadSigningKey(s.from.SigningKey())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.partial = true
		s.say("the key that signs archives is left out: %v", err)
	default:
		if err := store.CopyFile(s.from.SigningKey(), s.target.SigningKey(), -1); err != nil {
			return err
		}
	}
	if s.from.ArchiveDir != "" {
		return nil
	}
	archives := store.OpenArchives(s.from.Archives(), nil)
	list, err := archives.List()
	if err != nil || len(list) == 0 {
		return err
	}
	if err := datadir.Make(s.target.Archives()); err != nil {
		return err
	}
	for _, ref := range list {
		check := &archiveCheck{paths: s.from, w: io.Discard}
		if key != nil {
			check.own = key.Public()
		}
		if err := check.archive(ctx, archives, ref); err != nil {
			return err
		}
		if check.damaged != nil {
			s.partial = true
			s.say("an archive is left out: %v", check.damaged)
			continue
		}
		if err := store.CopyFile(filepath.Join(s.from.Archives(), ref.File), filepath.Join(s.target.Archives(), ref.File), -1); err != nil {
			return err
		}
	}
	return osfile.SyncDir(s.target.Archives())
}

// copyState copies the state of the changes if nothing is left that it could be folded from.
func (s *salvaging) copyState(ctx context.Context, source *Folder, events store.Salvaged) error {
	files, err := store.OpenFiles(ctx, s.target.Log())
	if err != nil || !events.Copied || !source.states[0].usable {
		return err
	}
	missing := node.CheckFoldable(ctx, s.target, files.Logs()[0], 0)
	if missing == nil || ctx.Err() != nil {
		return missing
	}
	if err := projections.Inspect(source.stateOptions(0), func(in *projections.Inspection) error { return in.Dump(io.Discard) }); err != nil {
		return fmt.Errorf("%w; and %s is damaged: %w", missing, datadir.StateFiles[0], err)
	}
	s.say("the state is copied, as it cannot be folded: %v", missing)
	return store.CopyFile(filepath.Join(s.from.Data, datadir.StateFiles[0]), filepath.Join(s.target.Data, datadir.StateFiles[0]), -1)
}

// tell reports what became of the logs and the bodies.
func (s *salvaging) tell(all []store.Inspection, streams []store.Salvaged, lost []string) {
	for i, r := range streams {
		in := all[i]
		for _, f := range in.Faults {
			s.say("damaged: %s", f.String())
		}
		if in.More > 0 {
			s.say("damaged: %s: %d places more", r.Stream, in.More)
		}
		if in.Torn != nil {
			s.say("left out: %s: %d bytes of an unfinished write at the end, in %d.blk at offset %d; no client had an answer",
				r.Stream, in.Torn.Bytes, in.Torn.Block, in.Torn.Offset)
		}
		for _, l := range r.Lost {
			s.say("lost: %s %d to %d: %s", r.Stream, l.From, l.To, l.Reason)
		}
		if r.More > 0 {
			s.say("lost: %s: %d stretches more", r.Stream, r.More)
		}
		how := "the chain is as it was up to the first lost event"
		if r.Copied {
			how = "copied byte for byte"
		}
		s.say("%s: %d events kept, %d lost; %s; chain %x", r.Stream, r.Kept, r.Total, how, r.Head)
		s.partial = s.partial || r.Total > 0 || len(in.Faults) > 0
	}
	for _, line := range lost {
		s.say("left out: %s", line)
	}
}
