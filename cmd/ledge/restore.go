package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/store/osfile"
)

func newRestore() *cobra.Command {
	c := &cobra.Command{
		Use:   "restore FILE DIR",
		Short: "Make a data folder of a backup",
		Long: `Make a data folder of a backup. DIR must not exist or be empty: nothing is overwritten. All is
verified before it becomes DIR; then the state is folded from the log.

No login from before is valid in DIR. Users and tokens are listed: remove and revoke those that
were removed since the backup. See docs/backup.md.

Exit code 6 if the backup is damaged: there is no DIR then.`,
		Example: `  ledge restore /backups/ledge-2026-11-22.tar /var/lib/ledge
  ledge restore today.tar restored && ledge serve --data-dir restored`,
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("data-dir") {
			return errors.New("--data-dir: restore has no default folder")
		}
		return cobra.ExactArgs(2)(c, args)
	}
	cli.WithSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		cfg.DataDir = c.Flags().Arg(1)
		p := cli.NewProgress(c.ErrOrStderr(), "restore")
		defer p.Clear()
		logger := cfg.NewLogger(p.Beside(c.ErrOrStderr()))
		r := &restore{config: cfg, file: c.Flags().Arg(0), logger: logger, out: p.Beside(c.OutOrStdout()), progress: p}
		return cli.Interrupted(ctx, r.run(ctx), "nothing is restored")
	})
	c.Flags().Lookup("data-dir").Hidden = true
	return c
}

// restore is one run of `ledge restore`.
type restore struct {
	config   *config.Config
	file     string
	logger   *slog.Logger
	out      io.Writer
	progress *cli.Progress
}

func (r *restore) run(ctx context.Context) error {
	dir := filepath.Clean(r.config.DataDir)
	if err := datadir.MustBeNew(dir); err != nil {
		return err
	}
	b, err := openBackup(r.file)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.verify(ctx, r.progress); err != nil {
		return err
	}
	if err := datadir.Make(filepath.Dir(dir)); err != nil {
		return exit.With(exit.Folder, err)
	}
	beside, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".restoring-*")
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	if err := r.fill(ctx, b, beside); err != nil {
		return errors.Join(err, os.RemoveAll(beside))
	}
	if err := becomes(beside, dir); err != nil {
		return errors.Join(exit.With(exit.Folder, err), os.RemoveAll(beside))
	}
	fmt.Fprintf(r.out, "restored to %s\n", dir)
	target := *r.config
	target.DataDir = dir
	return tellIdentities(ctx, &target, r.logger, r.out)
}

// fill unpacks the backup into a folder and verifies what is there.
func (r *restore) fill(ctx context.Context, b *backupReader, dir string) error {
	m, err := b.unpack(ctx, dir, r.progress)
	if err != nil {
		return err
	}
	target := *r.config
	target.DataDir = dir
	check := &folderCheck{config: &target, logger: r.logger, w: r.out, progress: r.progress, known: m.known()}
	if err := check.run(ctx); err != nil {
		return fmt.Errorf("backup %s: what is in it is not whole: %w", r.file, err)
	}
	for _, in := range check.logs {
		if e := m.Streams[in.Stream]; in.Last != e.Last || in.Torn != nil {
			return exit.With(exit.Damaged, fmt.Errorf("backup %s: %s ends at %d, and its manifest says %d", r.file, in.Stream, in.Last, e.Last))
		}
	}
	if err := refuseOldLogins(dir); err != nil {
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

// becomes gives a folder its name, in the place of an empty folder or of nothing.
func becomes(beside, dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; restore to a folder that does not exist", err)
	}
	if err := os.Rename(beside, dir); err != nil {
		return err
	}
	return osfile.SyncDir(filepath.Dir(dir))
}
