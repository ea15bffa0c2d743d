// Package console tests the management UI, in a browser and over HTTP.
package console

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
