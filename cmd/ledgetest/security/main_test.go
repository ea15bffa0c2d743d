// Package security tests secure mode, users, tokens, secrets and proxies.
package security

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
