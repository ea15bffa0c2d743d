package main

import (
	"log/slog"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
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

// keepingLittle is the configuration of a folder that needs little space.
func keepingLittle(t *testing.T) *config.Config {
	t.Helper()
	return configOf(t, "--data-dir", t.TempDir(), "--readings-max-bytes", "1MiB", "--disk-reserve", "256KiB")
}

func mustOpenData(t *testing.T, c *config.Config) *node.Node {
	t.Helper()
	d, err := node.Open(t.Context(), nodeOptions(c, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}
