// Package docs tests that documents are true: their commands, the files that they name, and the arrows between packages.
package docs

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
