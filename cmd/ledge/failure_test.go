package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
)

// TestStopWhileStarting holds that a stop is not taken for damage.
func TestStopWhileStarting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := execute(ctx, []string{
		"serve", "--data-dir", t.TempDir(), "--metadata-port", "0", "--device-rest-port", "0", "--notifications-port", "0", "--console-port", "0", "--data-port", "0", "--nats-port", "-1",
	}, &out, &out)
	if code != exit.OK || !strings.Contains(out.String(), "stopped while starting") {
		t.Errorf("exit code %d\n%s", code, &out)
	}
}
