package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/channels"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

func newWhy() *cobra.Command {
	c := &cobra.Command{
		Use:   "why SUBSCRIPTION [NOTIFICATION]",
		Short: "Explain why a notification did or did not arrive at a subscription",
		Long: `Explain why a notification, by its id, did or did not arrive at a subscription; without an id, what
would become of the next one. Each line is one cause, such as a lock, a label, an endpoint or a
queue. It asks the running server. See docs/reference/delivery.md#when-notifications-do-not-arrive.`,
		Example: `  ledge why watch
  ledge why watch 6a1c3f0e-8a44-4c0b-9d5e-2f6b7c8d9e01 --json`,
	}
	asJSON := cli.AddJSONFlag(c)
	c = cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		a, err := askRunning(ctx, cfg, admin.Request{Do: "why", Name: c.Flags().Arg(0), Notification: c.Flags().Arg(1)})
		if err != nil {
			return err
		}
		var why channels.Explanation
		if err := json.Unmarshal(a.Why, &why); err != nil {
			return fmt.Errorf("read the answer of the server: %w", err)
		}
		if *asJSON {
			return cli.PrintObject(c.OutOrStdout(), &why)
		}
		why.Print(c.OutOrStdout())
		return nil
	})
	c.Args = cobra.RangeArgs(1, 2)
	return c
}

// askRunning has a request answered by the running server of the data folder.
func askRunning(ctx context.Context, c *config.Config, r admin.Request) (a admin.Answer, err error) {
	if err := datadir.MustExist(c.DataDir); err != nil {
		return a, err
	}
	if !admin.Available { // before the folder is tried, whose error would be that it is in use
		return a, exit.With(exit.Usage, errors.New("there is no socket to ask the server on this system; use GET /api/v2/endpoint/all and /api/v2/transmission/notification/id/ID of the notifications service"))
	}
	held, client, err := admin.Attach(c.DataDir, true)
	if err != nil {
		return a, err
	}
	if held != nil {
		held.Release()
		return a, exit.With(exit.Usage, fmt.Errorf("no server runs on the data folder %s; start one with `ledge serve`", c.DataDir))
	}
	return client.Ask(ctx, r, nil)
}
