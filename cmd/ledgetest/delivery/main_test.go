// Package delivery tests what leaves a node: notifications by all channels, replays, callbacks and NATS messages.
package delivery

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
