package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

// Execute runs a command line of root and returns the exit code. Each command has the flag --cpu-profile. The error of a command is
// printed on stderr, in one line, or as an object if the command prints JSON. A failed write to stdout is a failed command.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	profile := &cpuProfile{}
	out := &checkedWriter{w: stdout}
	root.PersistentFlags().StringVar(&profile.path, "cpu-profile", "", "file to write a CPU profile of the command to, for go tool pprof")
	root.PersistentPreRunE = profile.start
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	err = errors.Join(err, profile.stop())
	if err == nil {
		err = out.err
	}
	if err == nil {
		return exit.OK
	}
	err = exit.Cured(err)
	code := exit.Failure
	if e, ok := errors.AsType[exit.Error](err); ok {
		code = e.Code
	}
	printError(stderr, command, err, code)
	return code
}

// Complete adds the commands to root, with their help, and with suggestions and the exit code [exit.Usage] for wrong arguments.
func Complete(root *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetUsageFunc(printUsage)
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
