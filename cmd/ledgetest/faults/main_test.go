// Package faults tests a node under kills, power cuts, failing devices, full disks and flipped bytes; `make faults` runs these for longer.
package faults

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
