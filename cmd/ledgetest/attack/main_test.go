// Package attack tests what hostile clients can cost others: memory, descriptors, processor time, rights and secrets.
package attack

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
