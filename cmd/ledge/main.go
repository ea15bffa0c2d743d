// Command ledge is the device plane of an IoT edge platform in one process: the EdgeX 2.3 services for device metadata,
// posted data and notifications, on an embedded NATS JetStream log that keeps every change.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/memory"
	"ledge/cmd/internal/node"
)

func main() {
	memory.Limit()
	ctx, stop := signal.NotifyContext(context.Background(), cli.StopSignals()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
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
	}, newServe(), newLog(), newVerify(), newBackup(), newRestore(), newSalvage(), newRebuild(), newArchive(), newSecrets(), newCA(),
		newCurve(), newUser(), newToken(), newWhy(), newHealth(), newConfig(), newVersion(), newMan())
}

// nodeOptions returns the options of a command that opens the log and the state.
func nodeOptions(c *config.Config, logger *slog.Logger) node.Options {
	return node.Options{Paths: c.Paths(), ReserveBytes: int64(c.DiskReserve), ReadingsReserveBytes: int64(c.ReadingsReserve()), Logger: logger}
}
