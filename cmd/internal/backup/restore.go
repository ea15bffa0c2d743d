package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"

	"ledge/cmd/internal/check"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/identities"
	"ledge/store/osfile"
	"ledge/store/secrets"
)

// RestoreOptions are the input of a restore.
type RestoreOptions struct {
	Paths    datadir.Paths   // of the new data folder
	Key      *secrets.AgeKey // of secure.FindSecretKey
	Version  string          // of ledge, for messages
	Logger   *slog.Logger
	Out      io.Writer // for the report
	Progress func(text string, done, total int64)
}

// restoring is one run of `ledge restore`.
type restoring struct {
	RestoreOptions
	file string
}

// Restore makes a data folder of the backup in a file. The folder must not exist or be empty.
func Restore(ctx context.Context, file string, o RestoreOptions) error {
	return (&restoring{o, file}).run(ctx)
}

func (r *restoring) run(ctx context.Context) error {
	dir := filepath.Clean(r.Paths.Data)
	if err := datadir.MustBeNew(dir); err != nil {
		return err
	}
	b, err := openFile(r.file)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.verify(ctx, r.Progress); err != nil {
		return err
	}
	folder, err := datadir.Create(dir)
	if err != nil {
		return err
	}
	if err := r.fill(ctx, b, dir); err != nil {
		return errors.Join(err, folder.Abandon())
	}
	if err := folder.Finish(); err != nil {
		return exit.With(exit.Folder, err)
	}
	fmt.Fprintf(r.Out, "restored to %s\n", dir)
	return nil
}

// fill unpacks the backup into a folder and verifies the folder.
func (r *restoring) fill(ctx context.Context, b *reader, dir string) error {
	m, err := b.unpack(ctx, dir, r.Version, r.Progress)
	if err != nil {
		return err
	}
	paths := r.Paths
	paths.Data = dir
	folder := &check.Folder{Paths: paths, Key: r.Key, Logger: r.Logger, W: r.Out, Progress: r.Progress, Known: m.known()}
	if err := folder.Run(ctx); err != nil {
		return fmt.Errorf("backup %s: what is in it is not whole: %w", r.file, err)
	}
	for _, in := range folder.Logs {
		if e := m.Streams[in.Stream]; in.Last != e.Last || in.Torn != nil {
			return exit.With(exit.Damaged, fmt.Errorf("backup %s: %s ends at %d, and its manifest says %d", r.file, in.Stream, in.Last, e.Last))
		}
	}
	if err := identities.RefuseOldLogins(dir); err != nil {
		return exit.With(exit.Folder, err)
	}
	return syncFolders(dir)
}

// syncFolders puts the names in all folders of a tree on disk.
func syncFolders(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = osfile.SyncDir(path)
		}
		return err
	})
}
