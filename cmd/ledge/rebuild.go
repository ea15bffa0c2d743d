package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
)

func newRebuild() *cobra.Command {
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Throw the state away and fold it again from the log",
		Long: `Throw the state away and fold it again from the log, or from the newest snapshot and the log. The
log is not touched. Stop the server first.

Exit code 6 if the log is shorter than the state remembers, or what it is folded from is not whole:
nothing is thrown away then. See docs/reference/data-folder.md.`,
		Example: `  ledge rebuild --data-dir /var/lib/ledge
  systemctl stop ledge && ledge rebuild --config /etc/ledge/ledge.yaml`,
	}
	return cli.WithSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if err := datadir.MustExist(cfg.DataDir); err != nil {
			return err
		}
		lock, err := datadir.Lock(cfg.DataDir)
		if err != nil {
			return err
		}
		defer lock.Release()
		if err := datadir.CheckFiles(cfg.DataDir); err != nil {
			return exit.With(exit.Folder, err)
		}
		if err := throwStateAway(ctx, cfg, cfg.NewLogger(c.ErrOrStderr())); err != nil {
			return err
		}
		started := time.Now()
		progress := cli.NewProgress(c.ErrOrStderr(), "rebuild")
		o := nodeOptions(cfg, cfg.NewLogger(progress.Beside(c.ErrOrStderr())))
		o.Folding = progress.At
		d, err := node.Open(ctx, o)
		progress.Clear()
		if err != nil {
			return cli.Interrupted(ctx, err, "the state is folded in part; `ledge serve` and `ledge rebuild` fold the rest, the log is not touched")
		}
		for _, p := range d.Parts() {
			seq, _ := p.State.Checkpoint()
			fmt.Fprintf(c.OutOrStdout(), "%s: folded to event %d of %s\n", p.File, seq, p.Log.Name())
		}
		if err := d.Close(); err != nil {
			return fmt.Errorf("close the rebuilt state: %w; run `ledge rebuild` again", err)
		}
		fmt.Fprintf(c.OutOrStdout(), "rebuilt in %v\n", time.Since(started).Round(time.Millisecond))
		return nil
	})
}

// throwStateAway removes the state. That knows how long the log was: it goes only where the two agree. A restored folder has none.
func throwStateAway(ctx context.Context, c *config.Config, logger *slog.Logger) error {
	there := slices.ContainsFunc(datadir.StateFiles, func(file string) bool {
		_, err := os.Lstat(filepath.Join(c.DataDir, file))
		return err == nil
	})
	if !there {
		return nil
	}
	old, err := node.Open(ctx, nodeOptions(c, logger))
	if err != nil {
		return cli.Interrupted(ctx, err, "nothing is thrown away")
	}
	fault := node.CheckFoldable(ctx, c.Paths(), old.Changes.Log, 0)
	if err := old.Close(); err != nil {
		return fmt.Errorf("nothing is thrown away, the state that is there was not closed clean: %w", err)
	}
	if fault != nil {
		return cli.Interrupted(ctx, fmt.Errorf("nothing is thrown away: %w", fault), "nothing is thrown away")
	}
	for _, file := range datadir.StateFiles {
		if err := os.Remove(filepath.Join(c.DataDir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exit.With(exit.Folder, err)
		}
	}
	return nil
}
