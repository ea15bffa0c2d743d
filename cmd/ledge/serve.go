package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newServe() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run all services until SIGTERM or SIGINT; SIGHUP reloads certificates and the log level",
		Long: `Run all services until SIGTERM or SIGINT: then requests in work are answered, the log is closed clean, and the exit code
is 0. A second SIGTERM or SIGINT ends the process at once; nothing that was acknowledged is lost by that either. It also
stops where it cannot go on: damage that is found while it runs ends it with exit code 6, a log that cannot be written any
more or a service that fails with 1.

SIGHUP never stops it, also where a terminal is closed. It reads the settings again and reloads log-level and the files of
tls-cert, tls-key and tls-client-ca; connections stay open. What cannot be used changes nothing, and one error in the log says
why. All other settings need a restart; one line of the log names those that differ. The log goes to standard error, so there
is no file of it to open again.`,
	}
	return configured(c, func(ctx context.Context, c *cobra.Command, config *Config, source map[string]string) error {
		signal.Ignore(syscall.SIGPIPE) // who reads the log may go: that ends no service
		hangups := make(chan os.Signal, 1)
		signal.Ignore(syscall.SIGHUP) // it does not end ctx from now on
		signal.Notify(hangups, syscall.SIGHUP)
		p := &Program{Config: config, Source: source, Logger: newLogger(config, c.ErrOrStderr())}
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			if term.IsTerminal(int(f.Fd())) {
				p.Terminal = f
			}
		}
		if err := p.Run(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				p.Logger.Info("stopped while starting")
				return nil
			}
			return err
		}
		defer p.Close()
		for {
			select {
			case <-hangups:
				p.Reload()
			case <-ctx.Done():
				p.Logger.Info("stopping")
				return nil
			case err := <-p.Failed():
				p.Logger.Error("stopping", "error", err)
				return damaged(err)
			}
		}
	})
}
