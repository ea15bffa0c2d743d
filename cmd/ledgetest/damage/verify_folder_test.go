package damage

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// mustLeave returns what holds that a folder is as it was: its files, their bytes, and the times of files and folders.
func mustLeave(t *testing.T, dir string) func() {
	t.Helper()
	before := listing(t, dir)
	return func() {
		t.Helper()
		if after := listing(t, dir); after != before {
			t.Errorf("%s is changed: it was\n%s\nand is\n%s", dir, before, after)
		}
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := "folder"
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(b))
		}
		fmt.Fprintln(&list, path, info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

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
		leaves := mustLeave(t, dir)
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
	leaves := mustLeave(t, dir)
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
