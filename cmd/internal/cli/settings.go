package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

// WithSettings gives a command all settings as flags, and has it run f with the settings. source says of each where its value comes from.
func WithSettings(c *cobra.Command, f func(ctx context.Context, c *cobra.Command, cfg *config.Config, source map[string]string) error) *cobra.Command {
	read := AddSettings(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, source, err := read()
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		return f(c.Context(), c, cfg, source)
	}
	return c
}

// AddSettings gives a command all settings as flags. read reads them, and returns where the value of each comes from. The error names every
// setting that is wrong.
func AddSettings(c *cobra.Command) (read func() (*config.Config, map[string]string, error)) {
	cfg := config.Default()
	settings := cfg.Settings()
	cfg.AddTo(c.Flags())
	file := c.Flags().StringP("config", "c", "", "YAML file of settings, below the environment and the flags [LEDGE_CONFIG]")
	if c.Args == nil {
		c.Args = cobra.NoArgs
	}
	c.SetUsageFunc(groupedUsage(cfg))
	return func() (*config.Config, map[string]string, error) {
		if v, ok := os.LookupEnv("LEDGE_CONFIG"); ok && !c.Flags().Changed("config") {
			*file = v
		}
		if warning := config.UnknownVariables(settings, os.Environ()); warning != "" {
			defer printWarning(c, cfg, warning)
		}
		source, err := cfg.Load(*file)
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
