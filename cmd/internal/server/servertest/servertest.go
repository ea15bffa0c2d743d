// Package servertest opens nodes with the settings of a server, for tests that work on them in their own process.
package servertest

import (
	"log/slog"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/server"
)

// ConfigOf returns the settings of a command line.
func ConfigOf(t *testing.T, flags ...string) *config.Config {
	t.Helper()
	c := config.Default()
	if err := c.Settings().Parse(flags); err != nil {
		t.Fatal(err)
	}
	return c
}

// MustOpenNode opens the log and the state of a data folder until the end of the test.
func MustOpenNode(t *testing.T, c *config.Config) *node.Node {
	t.Helper()
	d, err := node.Open(t.Context(), server.NodeOptions(c, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}
