package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
	"ledge/store"
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
		printed := false
		printer := logs.NewPrinter(c.OutOrStdout(), asJSON)
		print := func(m store.Message) error {
			printed = true
			return printer.Print(m)
		}
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
		if err := l.PrintHistory(ctx, &filter, print); err != nil || printed {
			return cli.ExplainInterrupt(ctx, err, notPrinted)
		}
		return checkNames(c.Flags())
	})
}

// checkNames returns an error that names the flags of a log without any message that they choose: one of them may be misspelled. It returns
// nil if a flag has left out a part of the log.
func checkNames(flags *pflag.FlagSet) error {
	for _, part := range []string{"since", "until", "from", "last"} {
		if flags.Changed(part) {
			return nil
		}
	}
	var names []string
	for _, name := range []string{"type", "device", "entity", "name", "actor", "subject"} {
		if flags.Changed(name) {
			names = append(names, fmt.Sprintf("--%s %q", name, flags.Lookup(name).Value))
		}
	}
	if len(names) == 0 {
		return nil
	}
	err := fmt.Errorf("no message on the log has %s; correct it, or print all messages without it", strings.Join(names, " and "))
	return exit.With(exit.Failure, err)
}
