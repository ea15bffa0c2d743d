// Command ledge is the device plane of an IoT edge platform in one process: the EdgeX 2.3 services for device metadata,
// posted data and notifications, on an embedded NATS JetStream log that keeps every change.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	profile := &cpuProfile{}
	out := &checked{w: stdout}
	root := newRoot()
	root.PersistentFlags().StringVar(&profile.path, "cpu-profile", "", "file to write a CPU profile of the command to, for go tool pprof")
	root.PersistentPreRunE = profile.start
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	err = errors.Join(err, profile.stop())
	if err == nil {
		err = out.err // what is not printed is not done
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
	root.SetUsageTemplate(ownUsage(root.UsageTemplate()))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = fmt.Errorf("--%s: %q: %w", bad.GetFlag().Name, bad.GetValue(), config.Explain(bad.GetFlag(), bad.Unwrap()))
		}
		return exit.With(exit.Usage, fmt.Errorf("%w%s; see `%s --help`", err, flagLike(c, err), c.CommandPath()))
	})
	root.AddCommand(newServe(), newLog(), newVerify(), newBackup(), newRestore(), newSalvage(), newRebuild(), newArchive(), newSecrets(), newCA(), newCurve(), newUser(), newToken(), newWhy(), newHealth(), newConfig(), newVersion(), newMan())
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
		c.Args = topic
	case c.Args == nil:
		c.Args = usage(cobra.NoArgs)
	default:
		c.Args = usage(c.Args)
	}
	for _, sub := range c.Commands() {
		refuseWrongArguments(sub)
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

// configured gives a command all settings as flags; its configuration is complete when f runs.
func configured(c *cobra.Command, f func(ctx context.Context, c *cobra.Command, cfg *config.Config, source map[string]string) error) *cobra.Command {
	read := withSettings(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, source, err := read()
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		return f(c.Context(), c, cfg, source)
	}
	return c
}

// withSettings gives a command all settings as flags. read reads them, and returns where the value of each comes from. The error names every
// setting that is wrong.
func withSettings(c *cobra.Command) (read func() (*config.Config, map[string]string, error)) {
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
			defer warn(c, cfg, warning)
		}
		source, err := cfg.Load(*file)
		return cfg, source, err
	}
}

// warn prints a line on the log of serve, and on standard error of other commands.
func warn(c *cobra.Command, cfg *config.Config, text string) {
	if c.Name() == "serve" {
		cfg.NewLogger(c.ErrOrStderr()).Warn(text)
		return
	}
	fmt.Fprintln(c.ErrOrStderr(), "ledge:", text)
}
