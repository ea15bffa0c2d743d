// Package disktest gives tests a small disk of their own, which they may fill.
package disktest

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
)

// New returns a folder on a file system in memory of so many KiB, until the test ends. Where none can be mounted, as by
// others than root, the test is skipped.
func New(tb testing.TB, kib int) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	Mount(tb, dir, kib)
	return dir
}

// Mount is New on a folder that is there.
func Mount(tb testing.TB, dir string, kib int) {
	tb.Helper()
	if out, err := exec.CommandContext(tb.Context(), "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dk", kib), "tmpfs", dir).CombinedOutput(); err != nil {
		tb.Skipf("the test fills a tmpfs of its own, and may not mount one; run it as root: %v: %s", err, out)
	}
	tb.Cleanup(func() {
		// Lazily: what a failed test has left open must not keep the folder from being removed.
		if out, err := exec.CommandContext(context.Background(), "umount", "-l", dir).CombinedOutput(); err != nil {
			tb.Errorf("umount: %v: %s", err, out)
		}
	})
}
