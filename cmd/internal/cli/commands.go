// Package cli is shared by all subcommands: settings as flags, help, suggestions, progress, tables and JSON.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

// ExplainInterrupt returns an error that names the remains of an interrupted command, if err follows from the end of ctx. Otherwise it
// returns err.
func ExplainInterrupt(ctx context.Context, err error, leaves string) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("interrupted: %s", leaves)
	}
	return err
}

// AddSettings gives a command all settings as flags; its configuration is complete when f runs.
func AddSettings(c *cobra.Command, f func(ctx context.Context, c *cobra.Command, cfg *config.Config, source map[string]string) error) *cobra.Command {
	read := AddSettingFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, source, err := read()
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		return f(c.Context(), c, cfg, source)
	}
	return c
}

// configUsage is the help of the flag --config.
const configUsage = "YAML file of settings, below the environment and the flags [LEDGE_CONFIG]. Default: " + config.InstalledFile +
	", if it is there and there is neither --data-dir nor a folder data"

// namesFolder reports whether the command line or the environment of a command names a data folder.
func namesFolder(c *cobra.Command) bool {
	const name = "data-dir"
	_, found := os.LookupEnv(config.EnvName(name))
	return found || c.Flags().Changed(name)
}

// AddSettingFlags gives a command all settings as flags. read reads them, and returns where the value of each comes from. The error names
// every setting that is wrong.
func AddSettingFlags(c *cobra.Command) (read func() (*config.Config, map[string]string, error)) {
	cfg := config.Default()
	settings := cfg.Settings()
	cfg.AddTo(c.Flags())
	file := c.Flags().StringP("config", "c", "", configUsage)
	if c.Args == nil {
		c.Args = cobra.NoArgs
	}
	c.SetUsageFunc(groupedUsage(cfg))
	return func() (*config.Config, map[string]string, error) {
		if v, ok := os.LookupEnv("LEDGE_CONFIG"); ok && !c.Flags().Changed("config") {
			*file = v
		} else if !c.Flags().Changed("config") && !namesFolder(c) {
			*file = config.FindInstalled()
		}
		if warning := config.UnknownVariables(settings, os.Environ()); warning != "" {
			defer printWarning(c, cfg, warning)
		}
		source, err := cfg.Load(*file)
		if warning := config.DescribeUnused(cfg); warning != "" && err == nil {
			printWarning(c, cfg, warning)
		}
		return cfg, source, err
	}
}

// printWarning prints a line on the log of serve, and on standard error of other commands.
func printWarning(c *cobra.Command, cfg *config.Config, text string) {
	if c.Name() == "serve" {
		cfg.NewLogger(c.ErrOrStderr()).Warn(text)
		return
	}
	fmt.Fprintln(c.ErrOrStderr(), "ledge:", text)
}
