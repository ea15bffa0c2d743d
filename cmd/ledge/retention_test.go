package main

import (
	"log/slog"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
)

func mustOpenData(t *testing.T, c *config.Config) *node.Node {
	t.Helper()
	d, err := node.Open(t.Context(), nodeOptions(c, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}
