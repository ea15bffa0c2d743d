// Package lifecycle tests a node over time: starts, stops, reloads, full disks, clocks, retention, health and metrics.
package lifecycle

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
