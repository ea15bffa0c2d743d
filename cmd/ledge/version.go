package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the Makefile from the newest tag.
var version = "0.1.0-dev"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revision and the versions of what it is built from",
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprintf(c.OutOrStdout(), "ledge %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return nil
			}
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					fmt.Fprintf(c.OutOrStdout(), "revision %s\n", s.Value)
				}
			}
			for _, m := range info.Deps {
				switch m.Path {
				case "github.com/nats-io/nats-server/v2", "github.com/go-zeromq/zmq4", "go.etcd.io/bbolt", "github.com/gin-gonic/gin":
					fmt.Fprintf(c.OutOrStdout(), "%s %s\n", m.Path, m.Version)
				}
			}
			return nil
		},
	}
}
