package identities

import (
	"log/slog"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/node"
	"ledge/store/secrets"
)

// mustOpenIdentities opens a data folder with its users and tokens.
func mustOpenIdentities(t *testing.T, dir string) (*node.Node, *Identities) {
	t.Helper()
	paths := datadir.Paths{Data: dir}
	n, err := node.Open(t.Context(), node.Options{Paths: paths, ReserveBytes: 1 << 20, ReadingsReserveBytes: 4 << 20, Logger: slog.New(slog.DiscardHandler)})
	mustDo(t, err)
	t.Cleanup(func() { _ = n.Close() })
	file, err := secrets.OpenWith(paths.Secrets(), nil)
	mustDo(t, err)
	return n, New(n, dir, file, n.Logger)
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
