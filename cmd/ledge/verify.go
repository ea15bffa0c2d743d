package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/check"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

func newVerify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that the log is whole and that the state is a fold of it",
		Long: `Check that every event is there, unaltered and linked to the one before it, that every body is as
its event says, that the state is a fold of the log, and that secrets and archives can be read. Each
damage is named with its place. Nothing in the data folder is changed.

A running server verifies what it can by itself; the state is compared only without one.
See docs/backup.md#verify-and-salvage.

Exit code 6 if something is damaged.`,
		Example: `  ledge verify --data-dir /var/lib/ledge
  ledge verify --json | jq .damages`,
	}
	asJSON := cli.AddJSONFlag(c)
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		progress := cli.NewProgress(c.ErrOrStderr(), "verify")
		defer progress.Clear()
		logger, out := cfg.NewLogger(progress.Beside(c.ErrOrStderr())), progress.Beside(c.OutOrStdout())
		if !*asJSON {
			return cli.ExplainInterrupt(ctx, check.Verify(ctx, cfg.Paths(), logger, out, progress.At), "not all is verified; nothing is changed")
		}
		report := check.NewReport()
		err := check.Verify(ctx, cfg.Paths(), logger, report, progress.At)
		damage, ok := errors.AsType[exit.Error](err)
		if report.Whole = err == nil; report.Whole || ok && damage.Code == exit.Damaged {
			if !report.Whole && len(report.Damages) == 0 {
				report.Damages = append(report.Damages, err.Error())
			}
			err = errors.Join(err, cli.PrintObject(out, report))
		}
		return cli.ExplainInterrupt(ctx, err, "not all is verified; nothing is changed")
	})
}
