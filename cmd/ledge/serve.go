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
		Short: "Run all services until SIGTERM, SIGINT or SIGHUP",
		Long: `Run all services until SIGTERM, SIGINT or SIGHUP, which is a terminal that is closed: then requests in work are answered,
the log is closed clean, and the exit code is 0. Under nohup SIGHUP is ignored. A second SIGTERM or SIGINT ends the
process at once; nothing that was acknowledged is lost by that either. It also stops where it cannot go on: damage that
is found while it runs ends it with exit code 6, a log that cannot be written any more or a service that fails with 1.`,
	}
	return configured(c, func(ctx context.Context, c *cobra.Command, config *Config, source map[string]string) error {
		signal.Ignore(syscall.SIGPIPE) // who reads the log may go: that ends no service
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
		select {
		case <-ctx.Done():
			p.Logger.Info("stopping")
			return nil
		case err := <-p.Failed():
			p.Logger.Error("stopping", "error", err)
			return damaged(err)
		}
	})
}
