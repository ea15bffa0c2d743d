package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/cmd/internal/config"
)

// helpWidth is the width of the help in columns.
const helpWidth = 100

// printUsage prints how to call a command, with its own flags only: the help of ledge itself has the others. Cobra's templates print the
// same, but a program that has them keeps every exported method of every type, because a template calls methods by name: 10 MB.
func printUsage(c *cobra.Command) error {
	out := c.OutOrStderr()
	fmt.Fprint(out, "Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(out, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(out, "  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprint(out, "\nAvailable Commands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(out, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(out, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(helpWidth))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	return nil
}

// completionExamples are the examples of the commands that cobra makes, by shell.
var completionExamples = map[string]string{
	"bash":       "  source <(ledge completion bash)\n  ledge completion bash > /etc/bash_completion.d/ledge",
	"zsh":        "  source <(ledge completion zsh)\n  ledge completion zsh > \"${fpath[1]}/_ledge\"",
	"fish":       "  ledge completion fish | source\n  ledge completion fish > ~/.config/fish/completions/ledge.fish",
	"powershell": "  ledge completion powershell | Out-String | Invoke-Expression\n  ledge completion powershell > ledge.ps1",
}

// shortenCompletion gives the commands that cobra makes a help like the other commands have.
func shortenCompletion(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  ledge help log\n  ledge help user add"
		case "completion":
			c.Example = completionExamples["bash"]
			for _, shell := range c.Commands() {
				shell.Long, shell.Example = shell.Short+".", completionExamples[shell.Name()]
			}
		}
	}
}

// groupedUsage shows the settings of a command in groups, and then its other flags.
func groupedUsage(cfg *config.Config) func(*cobra.Command) error {
	return func(c *cobra.Command) error {
		out := c.OutOrStderr()
		fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
		for _, group := range cfg.Groups {
			fmt.Fprintf(out, "\n%s:\n%s", group.Title, withoutLongDefaults(group.Flags).FlagUsagesWrapped(helpWidth))
		}
		others := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if cfg.Settings().Lookup(f.Name) == nil {
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
	for _, name := range config.FlagNames(config.Default().Settings(), "") {
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

// withoutLongDefaults are flags without the defaults that do not fit into a line, as they cannot be wrapped.
func withoutLongDefaults(flags *pflag.FlagSet) *pflag.FlagSet {
	short := pflag.NewFlagSet("", pflag.ContinueOnError)
	short.SortFlags = false
	flags.VisitAll(func(f *pflag.Flag) {
		one := *f
		if len(one.DefValue) > helpWidth/2 {
			one.DefValue, one.Usage = "", one.Usage+" (ledge config shows the default)"
		}
		short.AddFlag(&one)
	})
	return short
}
