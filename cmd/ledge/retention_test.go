package main

import (
	"log/slog"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/server"
)

// configOf is the configuration of flags.
func configOf(t *testing.T, flags ...string) *config.Config {
	t.Helper()
	c := config.Default()
	if err := c.Settings().Parse(flags); err != nil {
		t.Fatal(err)
	}
	return c
}

func mustOpenData(t *testing.T, c *config.Config) *node.Node {
	t.Helper()
	d, err := node.Open(t.Context(), server.NodeOptions(c, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}
