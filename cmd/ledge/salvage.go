package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"ledge/cmd/internal/check"
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
	return configured(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		to := c.Flags().Arg(0)
		p := newProgress(c.ErrOrStderr(), "salvage")
		defer p.clear()
		err := check.Salvage(ctx, check.SalvageOptions{
			Node: server.NodeOptions(cfg, cfg.NewLogger(p.beside(c.ErrOrStderr()))), To: to, Out: p.beside(c.OutOrStdout()), Progress: p.at,
		})
		return interrupted(ctx, err, fmt.Sprintf("%s is not complete, remove it; %s is not changed", to, cfg.DataDir))
	})
}
