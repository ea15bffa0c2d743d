package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
)

// TestStopWhileStarting holds that a stop is not taken for damage.
func TestStopWhileStarting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := execute(ctx, append([]string{"serve", "--data-dir", t.TempDir()}, services.FreePorts("-1")...), &out, &out)
	if code != exit.OK || !strings.Contains(out.String(), "stopped while starting") {
		t.Errorf("exit code %d\n%s", code, &out)
	}
}
