// Package api tests the APIs of the services as clients use them: values, batches, ETags, idempotency, and exchanges recorded from EdgeX.
package api

import (
	"os"
	"testing"

	"ledge/cmd/ledgetest"
)

func TestMain(m *testing.M) { os.Exit(ledgetest.Main(m)) }
