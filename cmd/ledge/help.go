package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// globalFlags is the part of cobra's usage text with the flags of the parents.
const globalFlags = `{{if .HasAvailableInheritedFlags}}

Global Flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}`

// withoutGlobalFlags is the usage text of a command with its own flags only. The help of ledge itself has the others.
func withoutGlobalFlags(template string) string {
	return strings.Replace(template, globalFlags, "", 1)
}

// helpWidth is the width of the help in columns. A terminal that is narrower wraps by itself.
const helpWidth = 110

// groupedUsage shows the settings of a command in groups, and then its other flags.
func groupedUsage(config *Config) func(*cobra.Command) error {
	return func(c *cobra.Command) error {
		out := c.OutOrStderr()
		fmt.Fprintf(out, "Usage:\n  %s\n", c.UseLine())
		for _, group := range config.groups {
			fmt.Fprintf(out, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(helpWidth))
		}
		others := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if config.declared.Lookup(f.Name) == nil {
				others.AddFlag(f)
			}
		})
		_, err := fmt.Fprintf(out, "\nOther flags:\n%s", others.FlagUsagesWrapped(helpWidth))
		return err
	}
}

// everySetting ends the help of a command that takes settings and does not show them.
const everySetting = "\n\nEvery setting of `ledge serve` is a flag here too; `ledge config` lists them."

// hideSettings leaves the settings but the data folder out of the help of a command and of those below it. They are still
// taken.
func hideSettings(c *cobra.Command) {
	hidden := false
	for _, name := range flagNames(new(Config).settings(), "") {
		if f := c.Flags().Lookup(name); f != nil && name != "data-dir" {
			f.Hidden, hidden = true, true
		}
	}
	if hidden {
		c.SetUsageFunc(nil)
		if c.Long == "" {
			c.Long = c.Short + "."
		}
		c.Long += everySetting
	}
	for _, sub := range c.Commands() {
		hideSettings(sub)
	}
}
