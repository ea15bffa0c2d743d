package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
)

// notPrinted is what an interrupted log leaves.
const notPrinted = "not all of the log is printed; nothing is changed"

func newLog() *cobra.Command {
	var asJSON bool
	var filter logs.Filter
	c := &cobra.Command{
		Use:   "log",
		Short: "Print what is on the log, oldest first; -f prints what is recorded from now on",
		Long: `Print what is on the log, oldest first: time, stream and sequence, type, subject, actor, origin, and
what changed. Flags that choose messages can be combined. What is archived is printed too.

It works with and without a running server. -f needs one, and waits while it is away.
See docs/audit.md.`,
		Example: `  ledge log -f --device cam-1
  ledge log --since 7d --until 2026-11-21 --type 'device.*'`,
	}
	c.Flags().BoolVarP(&filter.Follows, "follow", "f", false, "print what is recorded from now on")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line, with the stream, and with the payload where it is JSON")
	filter.AddTo(c.Flags())
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if err := filter.Check(c.Flags(), time.Now()); err != nil {
			return exit.With(exit.Usage, err)
		}
		l, err := logs.Open(ctx, cfg.Paths())
		if err != nil {
			return cli.ExplainInterrupt(ctx, err, notPrinted)
		}
		l.SkipGaps(c.ErrOrStderr())
		print := logs.NewPrinter(c.OutOrStdout(), asJSON).Print
		defer l.Close()
		if filter.Follows && l.Server != "" {
			seen, err := l.Place(ctx, &filter)
			if err != nil {
				return cli.ExplainInterrupt(ctx, exit.WithDamage(err), notPrinted)
			}
			return l.PrintFrom(ctx, c.ErrOrStderr(), cfg.DataDir, &filter, seen, print)
		}
		if filter.Follows {
			return exit.With(exit.Usage, fmt.Errorf("log -f follows a running server, and none has the data folder %s; start one with `ledge serve`", cfg.DataDir))
		}
		return cli.ExplainInterrupt(ctx, l.PrintHistory(ctx, &filter, print), notPrinted)
	})
}
