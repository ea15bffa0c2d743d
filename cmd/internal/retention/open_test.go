package retention

import (
	"log/slog"
	"testing"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
)

// configOf returns the settings of flags.
func configOf(t *testing.T, flags ...string) *config.Config {
	t.Helper()
	c := config.Default()
	if err := c.Settings().Parse(flags); err != nil {
		t.Fatal(err)
	}
	return c
}

// keepingLittle returns the settings of a folder that needs little space.
func keepingLittle(t *testing.T) *config.Config {
	t.Helper()
	return configOf(t, "--data-dir", t.TempDir(), "--readings-max-bytes", "1MiB", "--disk-reserve", "256KiB")
}

// mustOpenData opens the node of settings until the end of the test.
func mustOpenData(t *testing.T, c *config.Config) *node.Node {
	t.Helper()
	n, err := node.Open(t.Context(), node.Options{
		Paths: c.Paths(), ReserveBytes: int64(c.DiskReserve), ReadingsReserveBytes: int64(c.ReadingsReserve()), Logger: slog.New(slog.DiscardHandler),
	})
	mustDo(t, err)
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// optionsOf returns the limits of settings.
func optionsOf(c *config.Config) Options {
	return Options{
		Rules: c.ReadingsRetention, ReadingsMaxBytes: c.ReadingsMaxBytes, NotificationsMaxBytes: c.NotificationsMaxBytes, EventsMaxBytes: c.EventsMaxBytes, ReadingsMaxAge: c.ReadingsMaxAge, NotificationsMaxAge: c.NotificationsMaxAge,
		ReserveBytes: int64(c.DiskReserve), Paths: c.Paths(), Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}
}

// sweeperOf returns the sweeper of a node without payload files, with the limits of settings but readings-max-bytes.
func sweeperOf(d *node.Node, c *config.Config) *sweeper {
	o := optionsOf(c)
	o.ReadingsMaxBytes = 0
	return newSweeper(d, o, newCollector(d, nil))
}

func mustDo(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
