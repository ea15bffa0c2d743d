package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/server"
)

func newServe() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run all services until SIGTERM or SIGINT; SIGHUP reloads certificates and log level",
		Long: `Run all services until SIGTERM or SIGINT: requests in work are answered, the log is closed clean,
and the exit code is 0. A second signal ends the process at once; nothing that was acknowledged is
lost.

SIGHUP never stops it. It reloads log-level and the files of tls-cert, tls-key and tls-client-ca;
connections stay open. What cannot be used changes nothing, and one error in the log says why. Other
settings need a restart; a line of the log names those that differ. See docs/reference/operating.md.

With --no-delivery it sends nothing: no notification, callback or command. So a restored copy can be
looked into beside the node that it was copied from. See docs/backup.md#look-into-a-backup.

Exit code 6 for damage of the log that is found while it runs, 8 for damage of a state file, which
the next start folds again, 1 for a log that cannot be written any more.`,
		Example: `  ledge serve --data-dir /var/lib/ledge
  ledge serve --config /etc/ledge/ledge.yaml --secure`,
	}
	noDelivery := c.Flags().Bool("no-delivery", false, "send nothing to anybody, and listen on free ports unless flags set others")
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, source map[string]string) error {
		forgetOthers(c)
		signal.Ignore(syscall.SIGPIPE) // who reads the log may go: that ends no service
		hangups := make(chan os.Signal, 1)
		signal.Ignore(syscall.SIGHUP) // it does not end ctx from now on
		signal.Notify(hangups, syscall.SIGHUP)
		if *noDelivery {
			config.TakeFreePorts(cfg, source)
		}
		p := &server.Server{Config: cfg, Version: version, Source: source, NoDelivery: *noDelivery, Logger: cfg.NewLogger(c.ErrOrStderr())}
		if term.IsTerminal(int(os.Stdout.Fd())) { // standard error has the log, which a collector may keep
			p.Terminal = os.Stdout
		}
		if err := p.Run(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				p.Logger.Info("stopped while starting")
				return nil
			}
			return err
		}
		defer func() {
			p.Close()
			p.Logger.Info("stopped")
		}()
		for {
			select {
			case <-hangups:
				p.Reload()
			case <-ctx.Done():
				p.Logger.Info("stopping")
				return nil
			case err := <-p.Failed():
				p.Logger.Error("stopping", "error", err)
				return exit.WithDamage(err)
			}
		}
	})
}

// forgetOthers frees the commands beside c. As long as c runs, their flags would take some megabytes of memory.
func forgetOthers(c *cobra.Command) {
	root := c.Root()
	for _, other := range slices.Clone(root.Commands()) {
		if other != c {
			root.RemoveCommand(other)
		}
	}
}
