package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/check"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

func newArchive() *cobra.Command {
	c := &cobra.Command{
		Use:   "archive",
		Short: "List the archives of the log of changes, and print the public key that signs them",
		Long: `List the archives of the log of changes: the events in each, and whether it is there. The first
line is the public key that signs the archives; note it elsewhere, so that nobody can replace both.

It reads names and headers only; ledge verify checks the content. See docs/reference/archives.md.`,
		Example: `  ledge archive --data-dir /var/lib/ledge
  ledge archive --json | jq .missing`,
	}
	asJSON := cli.AddJSONFlag(c)
	return cli.AddSettings(c, func(_ context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if err := datadir.MustExist(cfg.DataDir); err != nil {
			return err
		}
		list, err := check.ListArchives(cfg.Paths())
		if err != nil {
			return exit.With(exit.Folder, err)
		}
		if *asJSON {
			return cli.PrintObject(c.OutOrStdout(), list)
		}
		list.Print(c.OutOrStdout())
		return nil
	})
}
