package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
	"ledge/domain/history"
	"ledge/domain/moment"
)

func newDiff() *cobra.Command {
	c := &cobra.Command{
		Use:   "diff --from MOMENT",
		Short: "Print what changed between two moments, by entity and field",
		Long: `Print the devices, profiles, device services, provision watchers and subscriptions that differ
between two moments, each with the fields that differ: before and after. A moment is the sequence of
an event, a time such as 2026-11-21T07:42:05Z or 2026-11-21, or how long ago, such as 2h or 7d. A
time means the last event that was recorded at it or before.

It works with and without a running server, and reads archives too. See docs/audit.md.`,
		Example: `  ledge diff --from 7d
  ledge diff --from 4711 --to 4800 --entity device --name cam-1 --json`,
	}
	from := c.Flags().String("from", "", "the earlier moment")
	to := c.Flags().String("to", "", "the later moment. Default: now")
	entity := c.Flags().String("entity", "", "only device, profile, service, watcher or subscription")
	name := c.Flags().String("name", "", "only entities with this name")
	asJSON := c.Flags().Bool("json", false, "one JSON object a line")
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		first, end, err := parseSpan(*from, *to, *entity)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		l, err := logs.Open(ctx, cfg.Paths())
		if err != nil {
			return cli.ExplainInterrupt(ctx, err, "nothing is printed")
		}
		defer l.Close()
		net, err := l.Diff(ctx, first, end, func(e, n string) bool {
			return (*entity == "" || e == *entity) && (*name == "" || n == *name)
		})
		if err != nil {
			return cli.ExplainInterrupt(ctx, err, "nothing is printed")
		}
		for change, err := range net.All() {
			if err == nil {
				err = printNet(c, change, *asJSON)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func printNet(c *cobra.Command, change history.NetChange, asJSON bool) error {
	if asJSON {
		return logs.PrintJSON(c.OutOrStdout(), change)
	}
	return logs.PrintDiff(c.OutOrStdout(), change)
}

// parseSpan reads the flags of diff.
func parseSpan(from, to, entity string) (first, end moment.Moment, err error) {
	if from == "" {
		return first, end, errors.New("--from is missing; give a sequence, a time or how long ago, such as 7d")
	}
	if _, ok := history.Kinds[entity]; entity != "" && !ok {
		names := strings.Join(slices.Sorted(maps.Keys(history.Kinds)), ", ")
		return first, end, fmt.Errorf("--entity: %q is unknown; use %s", entity, names)
	}
	now := time.Now()
	if first, err = moment.Parse(from, now); err != nil {
		return first, end, fmt.Errorf("--from: %w", err)
	}
	if end, err = moment.Parse(to, now); err != nil {
		return first, end, fmt.Errorf("--to: %w", err)
	}
	return first, end, nil
}
