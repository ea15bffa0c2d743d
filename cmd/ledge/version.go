package main

import (
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
)

// version is set by the Makefile from the newest tag.
var version = "0.1.0-dev"

func newVersion() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revision and the versions of what it is built from",
		Long:  "Print the version, the revision and the versions of what it is built from.",
		Example: `  ledge version
  ledge version --json | jq -r .version`,
	}
	asJSON := cli.AddJSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		v := builtVersion()
		if *asJSON {
			return cli.PrintObject(c.OutOrStdout(), v)
		}
		fmt.Fprintf(c.OutOrStdout(), "ledge %s (%s, %s)\n", v.Version, v.Go, v.Platform)
		if v.Revision != "" {
			fmt.Fprintf(c.OutOrStdout(), "revision %s\n", v.Revision)
		}
		for _, path := range slices.Sorted(maps.Keys(v.Modules)) {
			fmt.Fprintf(c.OutOrStdout(), "%s %s\n", path, v.Modules[path])
		}
		return nil
	}
	return c
}

// versionReport is what the program is built from.
type versionReport struct {
	Version  string            `json:"version"`
	Go       string            `json:"go"`
	Platform string            `json:"platform"` // operating system and processor, as Go names them
	Revision string            `json:"revision,omitempty"`
	Modules  map[string]string `json:"modules"` // versions of the modules that hold and carry data
}

func builtVersion() versionReport {
	v := versionReport{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Modules: map[string]string{}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/nats-io/nats-server/v2", "github.com/go-zeromq/zmq4", "go.etcd.io/bbolt", "github.com/gin-gonic/gin":
			v.Modules[m.Path] = m.Version
		}
	}
	return v
}
