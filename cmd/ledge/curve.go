package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ledge/bridge/zeromq"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/store/osfile"
)

// curveKeyName is the name of the private key of CURVE in the secret store.
const curveKeyName = "curve"

// openCurveKey reads the private key of CURVE, which the first start makes.
func (p *Program) openCurveKey() (err error) {
	p.curveKey, err = p.secrets.Key(curveKeyName)
	if osfile.IsFull(err) || domain.CodeOf(err) == domain.Full {
		p.Logger.Warn("the disk is full: ZeroMQ channels with clientKeys are not bound until the next start, because the server's key cannot be kept", "error", err)
		return nil
	}
	if err != nil {
		return exit.With(exit.Folder, fmt.Errorf("make the server's key of CURVE: %w", err))
	}
	return nil
}

// serverKey is the public key of a private one, in Z85; empty where there is none.
func serverKey(private []byte) string {
	if len(private) == 0 {
		return ""
	}
	return zeromq.PublicKey(private)
}

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
	return cli.WithSettings(c, func(_ context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if err := datadir.MustExist(cfg.DataDir); err != nil {
			return err
		}
		file, err := openSecrets(cfg.Paths())
		if err != nil {
			return err
		}
		key, ok := file.StoredKey(curveKeyName)
		if !ok {
			return exit.With(exit.Folder, fmt.Errorf("data folder %s has no key of CURVE; start once with `ledge serve`, which makes one", cfg.DataDir))
		}
		fmt.Fprintln(c.OutOrStdout(), serverKey(key))
		return nil
	})
}
