package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/audit"
	"ledge/cmd/internal/check"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
)

func newVerify() *cobra.Command {
	var checkpoint, key string
	c := &cobra.Command{
		Use:   "verify [FILE]",
		Args:  cobra.MaximumNArgs(1),
		Short: "Check that the log is whole and that the state is a fold of it",
		Long: `Check that every event is there, unaltered and linked to the one before it, that every body is as
its event says, that the state is a fold of the log, and that secrets and archives can be read. Each
damage is named with its place. Nothing in the data folder is changed.

A running server verifies what it can by itself; the state is compared only without one.
See docs/backup.md#verify-and-salvage.

With --checkpoint it checks instead that the log of changes extends a checkpoint that was kept
elsewhere, and trusts nothing else. With a FILE of ledge prove or ledge export and --key it checks
that proof, and needs no data folder. See docs/audit.md.

Exit code 6 if something is damaged, or not proven.`,
		Example: `  ledge verify --data-dir /var/lib/ledge
  ledge verify --checkpoint monday.checkpoint`,
	}
	c.Flags().StringVar(&checkpoint, "checkpoint", "", "file with a checkpoint of an earlier day; - is standard input")
	c.Flags().StringVar(&key, "key", "", "verifier key of a node, as ledge key prints it")
	asJSON := cli.AddJSONFlag(c)
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		progress := cli.NewProgress(c.ErrOrStderr(), "verify")
		defer progress.Clear()
		file := c.Flags().Arg(0)
		switch {
		case file != "" && (key == "" || checkpoint != ""):
			return exit.With(exit.Usage, errors.New("a FILE is checked with --key, and without --checkpoint; `ledge key` prints the key"))
		case file == "" && key != "" && checkpoint == "":
			return exit.With(exit.Usage, errors.New("--key is for a proof in a file, or for --checkpoint; give one of them"))
		case *asJSON && file+checkpoint != "":
			return exit.With(exit.Usage, errors.New("--json is for the verification of the whole node; leave it out"))
		case file != "":
			return verifyProof(c, file, key)
		case checkpoint != "":
			text, err := audit.ReadFile(checkpoint, c.InOrStdin())
			if err == nil {
				err = audit.VerifyCheckpoint(ctx, cfg.Paths(), string(text), key, progress.Beside(c.OutOrStdout()), progress.At)
			}
			return cli.ExplainInterrupt(ctx, err, "not all is verified; nothing is changed")
		}
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

func verifyProof(c *cobra.Command, file, key string) error {
	text, err := audit.ReadFile(file, c.InOrStdin())
	if err != nil {
		return err
	}
	return audit.VerifyProof(text, key, logs.NewPrinter(c.OutOrStdout(), false).Print, c.OutOrStdout())
}
