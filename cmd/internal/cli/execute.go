// Package cli is what all subcommands share: settings as flags, help, suggestions, exit codes, JSON and progress. It knows no subcommand.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/exit"
)

// StopSignals returns the signals that end a command in order. SIGHUP, which says that a terminal was closed, is one of them unless it is
// ignored, as under nohup; serve reloads at it. A shell passes on its own SIGHUP, so that two may come at once: the second ends nothing.
func StopSignals() []os.Signal {
	stop := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // for ever, so that it never ends the process by itself
		stop = append(stop, syscall.SIGHUP)
	}
	return stop
}

// Execute runs a command line of root and returns the exit code. Each command has the flag --cpu-profile. The error of a command is
// printed on stderr, in one line, or as an object if the command prints JSON. A failed write to stdout is an error too.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	profile := &cpuProfile{}
	out := &checked{w: stdout}
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

// Interrupted returns an error that says what an interrupted command leaves, if err comes from the end of ctx, and otherwise err.
func Interrupted(ctx context.Context, err error, leaves string) error {
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
