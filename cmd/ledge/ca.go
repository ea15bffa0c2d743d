package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/certs"
)

func newCA() *cobra.Command {
	c := &cobra.Command{
		Use:   "ca --data-dir DIR",
		Short: "Print the certificate of the local CA, which clients of secure mode have to trust",
		Long: `Print the certificate of the CA in the data folder, in PEM. It signs the certificate of a server in secure mode that has no
tls-cert. Clients have to trust it: curl --cacert, Python's requests verify=, Go's x509.CertPool. It reads one file and changes
nothing, whether a server runs or not. Exit code 5 where there is no CA.`,
	}
	return configured(c, func(_ context.Context, c *cobra.Command, config *Config, _ map[string]string) error {
		text, _, err := certs.ReadCA(config.DataDir)
		if errors.Is(err, fs.ErrNotExist) {
			return exitError{exitFolder, fmt.Errorf("data folder %s has no CA; start once with `ledge serve --secure` and without tls-cert, which makes one", config.DataDir)}
		}
		if err != nil {
			return authorityError(err)
		}
		_, err = c.OutOrStdout().Write(text)
		return err
	})
}
