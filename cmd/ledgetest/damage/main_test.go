// Package damage tests damaged folders and what is done about them: verify, rebuild, backup, restore, salvage, archives.
package damage

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
