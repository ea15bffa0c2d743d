// Command ledge is the device plane of an IoT edge platform in one process: the EdgeX 2.3 services for device metadata,
// posted data and notifications, on an embedded NATS JetStream log that keeps every change.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // the CAs that Mozilla trusts, for a system that has none, such as the image for containers

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/everyday"
	"ledge/cmd/internal/memory"
)

func main() {
	memory.Limit()
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// stopSignals returns the signals that end a command in order. SIGHUP, which says that a terminal was closed, is one of them unless it is
// ignored, as under nohup; serve reloads at it. A shell passes on its own SIGHUP, so that two may come at once: the second ends nothing.
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
	return cli.Execute(ctx, newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	return cli.Complete(&cobra.Command{
		Use:   "ledge",
		Short: "The device plane of an IoT edge platform, in one process, with a ledger under it",
		Long: `Ledge serves the EdgeX 2.3 APIs of the device plane, and keeps every change as an event on a log.

Exit codes: 0 done, 1 failed, 2 wrong setting, 3 data folder in use, 4 address not usable, 5 data
folder not usable, 6 damage, 7 salvage incomplete, 8 damaged state. See docs/reference/operating.md.`,
		Example: `  ledge serve --data-dir data
  ledge log -f --data-dir data`,
		Version: version,
	}, append(everyday.Commands(), newServe(), newLog(), newHistory(), newDiff(), newVerify(), newBackup(), newRestore(), newSalvage(),
		newRebuild(), newArchive(), newSecrets(), newCA(), newCurve(), newCheckpoint(), newProve(), newExport(), newKey(), newUser(),
		newToken(), newReplay(), newWhy(), newHealth(), newConfig(), newVersion(), newMan())...)
}
