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
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // something went wrong while running
	exitUsage   = 2 // an unknown command or flag, or a bad setting
	exitInUse   = 3 // another process has the data folder
	exitPort    = 4 // an address cannot be listened on
	exitFolder  = 5 // the data folder cannot be used
	exitDamaged = 6 // the log or what is folded from it is damaged
	exitPartial = 7 // salvage has left something out
)

// exitError is an error with the code to exit with.
type exitError struct {
	code int
	error
}

func (e exitError) Unwrap() error { return e.error }

func main() {
	limitMemory()
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
	profile := &cpuProfile{}
	out := &checked{w: stdout}
	root := newRoot()
	root.PersistentFlags().StringVar(&profile.path, "cpu-profile", "", "file to write a CPU profile of the command to, for go tool pprof")
	root.PersistentPreRunE = profile.start
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := errors.Join(root.ExecuteContext(ctx), profile.stop())
	if err == nil {
		err = out.err // what is not printed is not done
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "ledge: %v\n", err)
	if e, ok := errors.AsType[exitError](err); ok {
		return e.code
	}
	return exitFailure
}

// interrupted says what a signal leaves, where err is of one that ended ctx.
func interrupted(ctx context.Context, err error, leaves string) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("interrupted: %s", leaves)
	}
	return err
}

// checked remembers the first error of the writer below it.
type checked struct {
	w   io.Writer
	err error
}

func (c *checked) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "ledge",
		Short: "The device plane of an IoT edge platform, in one process, with a ledger under it",
		Long: `Ledge serves the EdgeX 2.3 APIs for device metadata, posted data and notifications, and keeps every change as an
event on an embedded NATS JetStream log.

Exit codes: 0 done, 1 failed while running, 2 unknown command, flag or bad setting, 3 data folder in use by another
process, 4 an address cannot be listened on, 5 data folder cannot be used, 6 log, state or backup damaged, 7 salvage has left something out.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		Version:       version,
	}
	root.SetVersionTemplate("ledge {{.Version}}\n")
	root.SetUsageTemplate(withoutGlobalFlags(root.UsageTemplate()))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = fmt.Errorf("--%s: %q: %w", bad.GetFlag().Name, bad.GetValue(), inWords(bad.GetFlag(), bad.Unwrap()))
		}
		return exitError{exitUsage, fmt.Errorf("%w%s; see `%s --help`", err, flagLike(c, err), c.CommandPath())}
	})
	root.RunE = func(c *cobra.Command, args []string) error { return c.Help() }
	root.AddCommand(newServe(), newLog(), newVerify(), newBackup(), newRestore(), newSalvage(), newRebuild(), newArchive(), newSecrets(), newCA(), newCurve(), newUser(), newToken(), newWhy(), newHealth(), newConfig(), newVersion(), newMan())
	for _, c := range root.Commands() {
		c.Args = usage(c.Args)
		if c.Name() != "serve" {
			hideSettings(c)
		}
	}
	root.Args = usage(root.Args)
	return root
}

// usage gives wrong arguments the exit code for it.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return exitError{exitUsage, fmt.Errorf("%w%s; see `%s --help`", err, commandLike(c, args), c.CommandPath())}
		}
		return nil
	}
}

// configured gives a command all settings as flags; its configuration is complete when f runs.
func configured(c *cobra.Command, f func(ctx context.Context, c *cobra.Command, config *Config, source map[string]string) error) *cobra.Command {
	config := &Config{}
	settings := config.settings()
	settings.VisitAll(func(f *pflag.Flag) { c.Flags().AddFlag(f) })
	file := c.Flags().StringP("config", "c", "", "YAML file of settings, below the environment and the flags [LEDGE_CONFIG]")
	c.Args = cobra.NoArgs
	c.SetUsageFunc(groupedUsage(config))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if v, ok := os.LookupEnv("LEDGE_CONFIG"); ok && !c.Flags().Changed("config") {
			*file = v
		}
		source, err := config.read(*file)
		if err != nil {
			return exitError{exitUsage, err}
		}
		config.reread = func() (*Config, error) {
			again := &Config{}
			flags := again.settings()
			settings.VisitAll(func(f *pflag.Flag) {
				if f.Changed {
					_ = flags.Set(f.Name, f.Value.String()) // as the command line has set it
				}
			})
			_, err := again.read(*file)
			return again, err
		}
		return f(c.Context(), c, config, source)
	}
	return c
}
