package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/check"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/server"
)

func newSalvage() *cobra.Command {
	c := &cobra.Command{
		Use:   "salvage DIR",
		Args:  cobra.ExactArgs(1),
		Short: "Copy all that is whole of a damaged data folder into a new one",
		Long: `Copy all that is whole of the damaged data folder, which --data-dir names, into a new one, DIR,
which must not exist or be empty. The damaged folder is not changed; stop its server first.

Whole events keep their sequences. What is left out is listed on the terminal and in
DIR/salvage.txt. See docs/backup.md#verify-and-salvage.

Exit code 0 if all was whole, 7 if something is left out.`,
		Example: `  ledge salvage /var/lib/ledge-new --data-dir /var/lib/ledge
  ledge salvage salvaged && ledge verify --data-dir salvaged`,
	}
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		to := c.Flags().Arg(0)
		p := cli.NewProgress(c.ErrOrStderr(), "salvage")
		defer p.Clear()
		err := check.Salvage(ctx, check.SalvageOptions{
			Node: server.NodeOptions(cfg, cfg.NewLogger(p.Beside(c.ErrOrStderr()))), To: to, Out: p.Beside(c.OutOrStdout()), Progress: p.At,
		})
		return cli.ExplainInterrupt(ctx, err, fmt.Sprintf("%s is not complete, remove it; %s is not changed", to, cfg.DataDir))
	})
}
