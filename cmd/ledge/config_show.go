package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newConfig() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Print every setting with its meaning, its default and the value in force, as a YAML file",
	}
	return configured(c, func(_ context.Context, c *cobra.Command, config *Config, source map[string]string) error {
		fmt.Fprintln(c.OutOrStdout(), "# Settings of ledge: each as flag --name, as environment variable, or as a line of this file.")
		for _, group := range config.groups {
			fmt.Fprintf(c.OutOrStdout(), "\n## %s\n", group.title)
			group.flags.VisitAll(func(f *pflag.Flag) {
				fmt.Fprintf(c.OutOrStdout(), "\n# %s\n# default %s; %s; in force from %s\n%s: %q\n",
					f.Usage, orNone(f.DefValue), envName(f.Name), source[f.Name], f.Name, f.Value.String())
			})
		}
		return nil
	})
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
