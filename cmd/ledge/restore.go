package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/backup"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/secure"
)

func newRestore() *cobra.Command {
	c := &cobra.Command{
		Use:   "restore FILE DIR",
		Short: "Make a data folder of a backup",
		Long: `Make a data folder of a backup. DIR must not exist or be empty: nothing is overwritten. No
command takes DIR until all is verified; then the state is folded from the log.

No login from before is valid in DIR. Users and tokens are listed: remove and revoke those that
were removed since the backup. See docs/backup.md.

Exit code 6 if the backup is damaged: DIR is empty then, or not made.`,
		Example: `  ledge restore /backups/ledge-2026-11-22.tar /var/lib/ledge
  ledge restore today.tar restored && ledge serve --data-dir restored`,
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("data-dir") {
			return errors.New("--data-dir: restore has no default folder")
		}
		return cobra.ExactArgs(2)(c, args)
	}
	cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		cfg.DataDir = c.Flags().Arg(1)
		p := cli.NewProgress(c.ErrOrStderr(), "restore")
		defer p.Clear()
		logger := cfg.NewLogger(p.Beside(c.ErrOrStderr()))
		out := p.Beside(c.OutOrStdout())
		key, err := secure.FindSecretKey(cfg.DataDir) // before the restore, which may take rights away
		if err == nil {
			o := backup.RestoreOptions{Paths: cfg.Paths(), Key: key, Version: version, Logger: logger, Out: out, Progress: p.At}
			err = backup.Restore(ctx, c.Flags().Arg(0), o)
		}
		if err == nil {
			cfg.DataDir = filepath.Clean(cfg.DataDir)
			err = tellIdentities(ctx, cfg, key, logger, out)
		}
		return cli.ExplainInterrupt(ctx, err, "nothing is restored")
	})
	c.Flags().Lookup("data-dir").Hidden = true
	return c
}
