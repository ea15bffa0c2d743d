package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/exit"
)

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
			return exit.With(exit.Usage, fmt.Errorf("%w%s; see `%s --help`", err, cmp.Or(commandLike(c, args), describeUse(c)), c.CommandPath()))
		}
		return nil
	}
}
