package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/secure"
	"ledge/store/secrets"
)

func newSecrets() *cobra.Command {
	c := &cobra.Command{
		Use:   "secrets",
		Short: "Change the key of the secret store",
		Long:  "Change the key of the secret store. See docs/reference/secrets.md.",
		Example: `  ledge secrets rekey new.key
  ledge secrets rekey '' --data-dir /var/lib/ledge`,
	}
	c.AddCommand(newRekey())
	return c
}

func newRekey() *cobra.Command {
	c := &cobra.Command{
		Use:   "rekey NEW",
		Args:  cobra.ExactArgs(1),
		Short: "Encrypt the secret store with another key, or decrypt it",
		Long: `Encrypt the secret store with the key in the file NEW, as age-keygen makes it. An empty name, '',
decrypts it. Stop the server first. The old key is the file ledge-secret-key in
$CREDENTIALS_DIRECTORY; put NEW in its place afterwards. See docs/reference/secrets.md.`,
		Example: `  age-keygen -o new.key && ledge secrets rekey new.key
  ledge secrets rekey '' --data-dir /var/lib/ledge`,
	}
	return cli.AddSettings(c, func(_ context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if err := datadir.MustExist(cfg.DataDir); err != nil {
			return err
		}
		done, err := rekey(cfg.Paths(), c.Flags().Arg(0))
		if err == nil {
			fmt.Fprintln(c.OutOrStdout(), done)
		}
		return err
	})
}

// rekey replaces the key of the secret store by that in the file at path, and says what was done.
func rekey(paths datadir.Paths, path string) (string, error) {
	from, err := secure.FindSecretKey(paths.Data)
	if err != nil {
		return "", err
	}
	to, err := secure.ReadSecretKey(paths.Data, path)
	if err != nil {
		return "", exit.With(exit.Usage, fmt.Errorf("new key: %w", err))
	}
	lock, err := datadir.Lock(paths.Data) // after the keys are read, which root alone may be able to read
	if err != nil {
		return "", err
	}
	defer lock.Release()
	there, err := secrets.Rekey(paths.Secrets(), from, to)
	switch {
	case err != nil:
		return "", secure.WithSecretsCode(err)
	case !there:
		return "there is no secret store yet; the next start makes one with the key of its settings", nil
	case to == nil:
		return "the secret store is decrypted; start Ledge without the credential ledge-secret-key", nil
	}
	return "the secret store is encrypted with the new key; make the credential ledge-secret-key of " + path, nil
}
