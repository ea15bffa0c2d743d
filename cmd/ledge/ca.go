package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

func newCA() *cobra.Command {
	c := &cobra.Command{
		Use:   "ca",
		Short: "Print the certificate of the local CA, which clients of secure mode have to trust",
		Long: `Print the certificate of the local CA in PEM. It signs the certificate of a server in secure mode
that has no tls-cert; clients have to trust it. See docs/reference/security.md.

Exit code 5 if there is no CA.`,
		Example: `  ledge ca --data-dir /var/lib/ledge > ledge-ca.pem
  ledge ca > ca.pem && curl --cacert ca.pem https://localhost:59881/api/v2/ping`,
	}
	return cli.WithSettings(c, func(_ context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if _, err := os.Stat(cfg.DataDir); errors.Is(err, fs.ErrNotExist) {
			return datadir.MustExist(cfg.DataDir)
		}
		text, _, err := certs.ReadCA(cfg.DataDir)
		if errors.Is(err, fs.ErrNotExist) {
			return exit.With(exit.Folder, fmt.Errorf("data folder %s has no CA; start once with `ledge serve --secure` and without tls-cert, which makes one", cfg.DataDir))
		}
		if err != nil {
			return authorityError(err)
		}
		_, err = c.OutOrStdout().Write(text)
		return err
	})
}
