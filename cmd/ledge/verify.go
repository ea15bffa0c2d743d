package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
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
	return cli.WithSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		progress := cli.NewProgress(c.ErrOrStderr(), "verify")
		defer progress.Clear()
		logger, out := cfg.NewLogger(progress.Beside(c.ErrOrStderr())), progress.Beside(c.OutOrStdout())
		if !*asJSON {
			return cli.Interrupted(ctx, verifyAll(ctx, cfg, logger, out, progress), "not all is verified; nothing is changed")
		}
		report := verifyReport{Streams: []*verifiedStream{}, Damages: []string{}, Notes: []string{}}
		err := verifyAll(ctx, cfg, logger, &report, progress)
		damage, ok := errors.AsType[exit.Error](err)
		if report.Whole = err == nil; report.Whole || ok && damage.Code == exit.Damaged {
			if !report.Whole && len(report.Damages) == 0 {
				report.Damages = append(report.Damages, err.Error())
			}
			err = errors.Join(err, cli.PrintObject(out, report))
		}
		return cli.Interrupted(ctx, err, "not all is verified; nothing is changed")
	})
}

// verifyAll verifies all of the folder of a node that does not run, or has the running server verify what it can.
func verifyAll(ctx context.Context, c *config.Config, logger *slog.Logger, w io.Writer, p *cli.Progress) error {
	held, client, err := admin.Attach(c.DataDir, false)
	if err != nil {
		return err
	}
	if client != nil {
		return verifyRunning(ctx, client, w, p)
	}
	defer held.Close()
	return (&folderCheck{config: c, logger: logger, w: w, progress: p}).run(ctx)
}

// printWhole prints a log that is whole, or hands it to a w that takes it as such.
func printWhole(w io.Writer, s *verifiedStream) {
	if w, ok := w.(streamTaker); ok {
		w.takeStream(s)
		return
	}
	printStream(w, s)
}

// printStream names the events that could not be decoded too. They are no damage: the state was folded without them.
func printStream(w io.Writer, s *verifiedStream) {
	fmt.Fprintf(w, "%s: whole, %d events, %d to %d, chain %s\n", s.Stream, s.Events, s.First, s.Last, s.Chain)
	if len(s.Skipped) > 0 {
		fmt.Fprintf(w, "%s: %d events could not be decoded; skipped:\n", s.Stream, len(s.Skipped))
	}
	for _, text := range s.Skipped {
		fmt.Fprintf(w, "  %s\n", text)
	}
}
