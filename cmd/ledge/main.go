// Command ledge is the device plane of an IoT edge platform in one process: the EdgeX 2.3 services for device metadata,
// posted data and notifications, on an embedded NATS JetStream log that keeps every change.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/memory"
)

func main() {
	memory.Limit()
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// stopSignals are those that end a command in order. SIGHUP, a terminal that is closed, is one unless it is ignored, as under
// nohup, and except for serve, which reloads. A shell passes on the one that it gets itself, so that two may come at once: a
// second one ends nothing.
func stopSignals() []os.Signal {
	stop := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // for ever, so that it never ends the process by itself
		stop = append(stop, syscall.SIGHUP)
	}
	return stop
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	profile := &cli.CPUProfile{}
	out := &cli.CheckedWriter{W: stdout}
	root := newRoot()
	root.PersistentFlags().StringVar(&profile.Path, "cpu-profile", "", "file to write a CPU profile of the command to, for go tool pprof")
	root.PersistentPreRunE = profile.Start
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	err = errors.Join(err, profile.Stop())
	if err == nil {
		err = out.Err // a failed write is a failed command
	}
	if err == nil {
		return exit.OK
	}
	err = exit.Cured(err)
	code := exit.Failure
	if e, ok := errors.AsType[exit.Error](err); ok {
		code = e.Code
	}
	cli.PrintError(stderr, command, err, code)
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "ledge",
		Short: "The device plane of an IoT edge platform, in one process, with a ledger under it",
		Long: `Ledge serves the EdgeX 2.3 APIs of the device plane, and keeps every change as an event on a log.

Exit codes: 0 done, 1 failed, 2 wrong setting, 3 data folder in use, 4 address not usable, 5 data
folder not usable, 6 damage, 7 salvage incomplete, 8 damaged state. See docs/reference/operating.md.`,
		Example: `  ledge serve --data-dir data
  ledge log -f --data-dir data`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	root.SetVersionTemplate("ledge {{.Version}}\n")
	root.SetUsageTemplate(cli.WrapUsage(root.UsageTemplate()))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = fmt.Errorf("--%s: %q: %w", bad.GetFlag().Name, bad.GetValue(), config.Explain(bad.GetFlag(), bad.Unwrap()))
		}
		return exit.With(exit.Usage, fmt.Errorf("%w%s; see `%s --help`", err, cli.SuggestFlag(c, err), c.CommandPath()))
	})
	root.AddCommand(newServe(), newLog(), newVerify(), newBackup(), newRestore(), newSalvage(), newRebuild(), newArchive(), newSecrets(), newCA(), newCurve(), newUser(), newToken(), newWhy(), newHealth(), newConfig(), newVersion(), newMan())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cli.ShortenCompletion(root)
	for _, c := range root.Commands() {
		if c.Name() != "serve" {
			cli.HideSettings(c)
		}
	}
	cli.RefuseWrongArguments(root)
	return root
}
