// Package events tests the log over HTTP: pages of events, streams of events, and that they choose as the command line and the console do.
package events

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
