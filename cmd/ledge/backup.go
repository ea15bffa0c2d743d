package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/backup"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

func newBackup() *cobra.Command {
	c := &cobra.Command{
		Use:   "backup FILE",
		Args:  cobra.ExactArgs(1),
		Short: "Write the log, the bodies and the secrets of a running or stopped node to one file",
		Long: `Write the log, the bodies and the secrets of a running or stopped node to one new file, from which
ledge restore makes a data folder. The file has secrets and keys in it: keep it as you keep the
data folder. Archives are not in it: copy archive-dir too. See docs/backup.md.

With --keep N, FILE is a folder: the backup gets a name with the time there, and the oldest of such
names are removed until N are left. The timer ledge-backup of the package does that each day.

Exit code 6 if the log or a body is damaged: no backup is written then.`,
		Example: `  ledge backup /backups/ledge-2026-11-22.tar
  ledge backup --keep 7 /backups`,
	}
	keep := c.Flags().Int("keep", 0, "how many backups to keep in the folder FILE; 0: FILE is a file")
	asJSON := cli.AddJSONFlag(c)
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		name, err := backup.ChooseName(c.Flags().Arg(0), *keep, time.Now())
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		p := cli.NewProgress(c.ErrOrStderr(), "backup")
		defer p.Clear()
		report, err := backup.Write(ctx, name, backup.Options{
			Paths: cfg.Paths(), Version: version, Logger: cfg.NewLogger(p.Beside(c.ErrOrStderr())), Progress: p.At,
		})
		if err != nil {
			return cli.ExplainInterrupt(ctx, err, "no backup is written")
		}
		if report.Removed, err = backup.RemoveOld(name, *keep); err != nil {
			return fmt.Errorf("%s is written: %w", name, err)
		}
		if *asJSON {
			return cli.PrintObject(p.Beside(c.OutOrStdout()), report)
		}
		report.Print(p.Beside(c.OutOrStdout()))
		return nil
	})
}
