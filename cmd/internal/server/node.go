package server

import (
	"log/slog"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
)

// NodeOptions returns the options of a command that opens the log and the state.
func NodeOptions(c *config.Config, logger *slog.Logger) node.Options {
	return node.Options{Paths: c.Paths(), ReserveBytes: int64(c.DiskReserve), ReadingsReserveBytes: int64(c.ReadingsReserve()), Logger: logger}
}
