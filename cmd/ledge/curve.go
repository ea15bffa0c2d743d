package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/channels"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/secure"
)

func newCurve() *cobra.Command {
	c := &cobra.Command{
		Use:   "curve",
		Short: "Print the public key that ZeroMQ subscribers with CURVE need",
		Long: `Print the server's public key of CURVE, 40 characters of Z85. Subscribers of a ZeroMQ channel with
clientKeys have to know it: ZMQ_CURVE_SERVERKEY of libzmq. See docs/reference/zeromq.md.

Exit code 5 if there is no key.`,
		Example: `  ledge curve --data-dir /var/lib/ledge
  ledge curve --config /etc/ledge/ledge.yaml > server.key`,
	}
	return cli.AddSettings(c, func(_ context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if err := datadir.MustExist(cfg.DataDir); err != nil {
			return err
		}
		file, err := secure.ReadSecrets(cfg.Paths())
		if err != nil {
			return err
		}
		key, ok := file.StoredKey(channels.CurveKeyName)
		if !ok {
			return exit.With(exit.Folder, fmt.Errorf("data folder %s has no key of CURVE; start once with `ledge serve`, which makes one", cfg.DataDir))
		}
		fmt.Fprintln(c.OutOrStdout(), channels.PublicKey(key))
		return nil
	})
}
