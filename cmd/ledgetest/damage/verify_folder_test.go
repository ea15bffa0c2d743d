package damage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestVerifyChangesNothing verifies and prints folders that are whole, after a stop and after a kill, and one that nobody
// may write to.
func TestVerifyChangesNothing(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	p.PostImage(ledgetest.LargeBody)
	p.Kill()
	killed := ledgetest.Clone(t, dir)
	ledgetest.Start(t, dir).Stop()
	for _, dir := range []string{killed, dir} {
		leaves := ledgetest.MustLeave(t, dir)
		for _, command := range []string{"verify", "log"} {
			if out, errs, code := ledgetest.Run(t, command, "--data-dir", dir); code != exit.OK || out == "" {
				t.Errorf("ledge %s: %d, %s%s", command, code, out, errs)
			}
		}
		leaves()
	}
	ledgetest.Alter(t, ledgetest.Block(dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	if err := os.WriteFile(filepath.Join(dir, "secrets.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	leaves := ledgetest.MustLeave(t, dir)
	out, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir)
	for _, want := range []string{"1.blk at offset ", "secrets.json: it is not what Ledge has written", "LEDGE_EVENTS: damaged, ", "LEDGE_READINGS: whole, 1 events", "payloads: whole, 1 bodies"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if code != exit.Damaged || !strings.Contains(errs, "(the first of 2 damages)") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	leaves()
}
