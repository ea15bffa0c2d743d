// Package docs tests that documents say what is so: commands that they show, names of files, and the arrows between packages.
package docs

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
