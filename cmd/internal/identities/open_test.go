package identities

import (
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/node/nodetest"
	"ledge/store/secrets"
)

// mustOpenIdentities opens a data folder with its users and tokens.
func mustOpenIdentities(t *testing.T, dir string) (*node.Node, *Identities) {
	t.Helper()
	n := nodetest.Open(t, dir)
	file, err := secrets.OpenWith(datadir.Paths{Data: dir}.Secrets(), nil)
	mustDo(t, err)
	return n, New(n, dir, file, n.Logger)
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
