package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/rest"
	"ledge/domain/history"
)

// usualHistory is the number of events that history prints without --limit.
const usualHistory = 20

func newHistory() *cobra.Command {
	c := &cobra.Command{
		Use:   "history ENTITY NAME",
		Short: "Print the changes of one device, user or other entity, newest first",
		Long: `Print the events of one entity, newest first: time, sequence, type, actor, origin, and each value
before and after. ENTITY is device, profile, service, watcher, subscription, user or token. A
removed entity has a history too, and so have earlier ones with the same name. Of a notification,
ENTITY is notification and NAME is its id.

--restore makes the entity what it was after an event, as an ordinary change in your name.

It works with and without a running server (on Windows, stop it first); --restore needs one. See
docs/audit.md.`,
		Example: `  ledge history device cam-1
  ledge history device cam-1 --restore 4711`,
	}
	asJSON := cli.AddJSONFlag(c)
	limit := c.Flags().Int("limit", usualHistory, fmt.Sprintf("events to print, at most %d", history.MostEntries))
	before := c.Flags().Uint64("before", 0, "begin below this sequence. Default: the newest event")
	restore := c.Flags().Uint64("restore", 0, "sequence of the event whose version is restored")
	c = cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		q := history.Query{Entity: c.Flags().Arg(0), Name: c.Flags().Arg(1), Limit: *limit, Before: *before, OfIdentities: true}
		if err := q.Check(); err != nil {
			return exit.With(exit.Usage, err)
		}
		if *restore > 0 {
			text, err := rest.Restore(ctx, cfg.DataDir, q.Entity, q.Name, *restore)
			if err == nil {
				fmt.Fprintln(c.OutOrStdout(), text)
			}
			return err
		}
		page, err := readHistory(ctx, cfg, cfg.NewLogger(c.ErrOrStderr()), q)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return cli.PrintObject(c.OutOrStdout(), page)
		}
		return logs.PrintPage(c.OutOrStdout(), page)
	})
	c.Args = cobra.ExactArgs(2)
	return c
}

// readHistory asks the server of the data folder for a page. If no server runs, it opens the folder itself.
func readHistory(ctx context.Context, c *config.Config, logger *slog.Logger, q history.Query) (page history.Page, err error) {
	if err := datadir.MustExist(c.DataDir); err != nil {
		return page, err
	}
	held, client, err := admin.Attach(c.DataDir, true)
	if err != nil {
		return page, err
	}
	if client != nil {
		a, err := client.Ask(ctx, admin.Request{Do: "history", History: &q}, nil)
		if err == nil {
			err = json.Unmarshal(a.History, &page)
		}
		return page, err
	}
	defer held.Release()
	err = onNode(ctx, c, logger, func(d *node.Node) (err error) {
		page, err = d.ReadHistory(ctx, q)
		return err
	})
	return page, err
}
