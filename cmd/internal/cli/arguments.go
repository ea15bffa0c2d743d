package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/exit"
)

// RefuseWrongArguments gives wrong arguments of a command, and of those below it, their exit code. A command with commands below it
// takes no other argument; without one it prints its help.
func RefuseWrongArguments(c *cobra.Command) {
	if c.HasSubCommands() && !c.Runnable() {
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	switch {
	case c.Name() == "help":
		c.Args = topic
	case c.Args == nil:
		c.Args = usage(cobra.NoArgs)
	default:
		c.Args = usage(c.Args)
	}
	for _, sub := range c.Commands() {
		RefuseWrongArguments(sub)
	}
}

// synopsis says how a command with arguments is written.
func synopsis(c *cobra.Command) string {
	if _, arguments, _ := strings.Cut(c.Use, " "); arguments == "" {
		return ""
	}
	return "; write `" + strings.TrimSuffix(c.UseLine(), " [flags]") + "`"
}

// usage gives wrong arguments the exit code for it.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return exit.With(exit.Usage, fmt.Errorf("%w%s; see `%s --help`", err, cmp.Or(commandLike(c, args), synopsis(c)), c.CommandPath()))
		}
		return nil
	}
}
