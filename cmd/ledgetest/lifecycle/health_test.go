package lifecycle

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestHealth asks a server that is well, one whose disk is full for it, and none.
func TestHealth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--nats-port", "-1")
	if out, errs, code := ledgetest.Run(t, "health", "--data-dir", dir); code != exit.OK || out != "ready\n" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if got := readHealth(t, dir, exit.OK); !got.Ready || got.Refusing == nil || len(got.Refusing) > 0 || got.Warnings == nil {
		t.Errorf("as JSON: %+v", got)
	}
	p.Stop()
	if _, errs, code := ledgetest.Run(t, "health", "--data-dir", dir); code != exit.Failure || !strings.Contains(errs, "no server runs on the data folder") {
		t.Errorf("stopped: exit code %d: %s", code, errs)
	}
	if _, errs, code := ledgetest.Run(t, "health", "--data-dir", filepath.Join(dir, "none")); code != exit.Failure || errs == "" {
		t.Errorf("no folder: exit code %d: %s", code, errs)
	}
	ledgetest.Start(t, dir, "--disk-reserve", "1000000GiB")
	if _, errs, code := ledgetest.Run(t, "health", "--data-dir", dir); code != exit.Failure || !strings.Contains(errs, "core-metadata: ") {
		t.Errorf("full disk: exit code %d: %s", code, errs)
	}
	if got := readHealth(t, dir, exit.Failure); got.Ready || !strings.Contains(strings.Join(got.Refusing, "\n"), "\ncore-metadata: ") {
		t.Errorf("full disk, as JSON: %+v", got)
	}
}

// readHealth reads the output of `ledge health --json`.
func readHealth(t *testing.T, dir string, code int) (health struct {
	Ready              bool
	Refusing, Warnings []string
}) {
	t.Helper()
	out, errs, got := ledgetest.Run(t, "health", "--json", "--data-dir", dir)
	if err := json.Unmarshal([]byte(out), &health); err != nil || got != code {
		t.Errorf("exit code %d: %s%s %v", got, out, errs, err)
	}
	return health
}
