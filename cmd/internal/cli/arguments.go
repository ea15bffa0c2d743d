package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

// Complete adds the commands to root, with their help, and with suggestions and the exit code [exit.Usage] for wrong arguments.
func Complete(root *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetVersionTemplate("ledge {{.Version}}\n")
	root.SetUsageTemplate(ownUsage(root.UsageTemplate()))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = fmt.Errorf("--%s: %q: %w", bad.GetFlag().Name, bad.GetValue(), config.Explain(bad.GetFlag(), bad.Unwrap()))
		}
		return exit.With(exit.Usage, fmt.Errorf("%w%s; see `%s --help`", err, suggestFlag(c, err), c.CommandPath()))
	})
	root.AddCommand(commands...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	shortenCompletion(root)
	for _, c := range root.Commands() {
		if c.Name() != "serve" {
			hideSettings(c)
		}
	}
	refuseWrongArguments(root)
	return root
}

// refuseWrongArguments gives wrong arguments of a command, and of those below it, their exit code. A command with commands below it
// takes no other argument; without one it prints its help.
func refuseWrongArguments(c *cobra.Command) {
	if c.HasSubCommands() && !c.Runnable() {
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	switch {
	case c.Name() == "help":
		c.Args = checkTopic
	case c.Args == nil:
		c.Args = checkArguments(cobra.NoArgs)
	default:
		c.Args = checkArguments(c.Args)
	}
	for _, sub := range c.Commands() {
		refuseWrongArguments(sub)
	}
}

// describeUse says how a command with arguments is written.
func describeUse(c *cobra.Command) string {
	if _, arguments, _ := strings.Cut(c.Use, " "); arguments == "" {
		return ""
	}
	return "; write `" + strings.TrimSuffix(c.UseLine(), " [flags]") + "`"
}

// checkArguments gives wrong arguments the exit code for it.
func checkArguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return exit.With(exit.Usage, fmt.Errorf("%w%s; see `%s --help`", err, cmp.Or(suggestCommand(c, args), describeUse(c)), c.CommandPath()))
		}
		return nil
	}
}
