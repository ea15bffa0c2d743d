package damage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestSalvageOfArchived salvages a folder whose first changes are archived: archive, key and snapshot come along. Before, they stayed behind
// and the command said that all was whole; and after a flipped byte in fronts.json it refused with the sentence that recommends it.
func TestSalvageOfArchived(t *testing.T) {
	for _, test := range []struct {
		name string
		code int
		do   func(dir string)
	}{
		{"whole", exit.OK, func(string) {}},
		{"fronts.json", exit.Partial, func(dir string) { flipByte(t, filepath.Join(dir, "nats", "fronts.json")) }},
		{"archive", exit.Partial, func(dir string) { flipByte(t, archivesIn(t, dir)[0]) }},
		{"key", exit.Partial, func(dir string) {
			ledgetest.MustDo(t, os.WriteFile(filepath.Join(dir, "archive-key.pem"), []byte("x"), 0o600))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
			unpackGolden(t, dir)
			before := wholeLogOf(t, dir)
			test.do(dir)
			out, errs, code := ledgetest.Run(t, "salvage", "--data-dir", dir, to)
			if code != test.code || test.code == exit.OK != strings.Contains(out, "all was whole") {
				t.Fatalf("exit code %d, want %d\n%s%s", code, test.code, out, errs)
			}
			if strings.Contains(out, "lost: ") {
				t.Errorf("events are lost\n%s", out)
			}
			if test.name != "archive" && wholeLogOf(t, to) != before {
				t.Error("the log is another one")
			}
			if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", to); code != exit.OK {
				t.Errorf("verify: %d\n%s%s", code, out, errs)
			}
			p := ledgetest.Start(t, to)
			ledgetest.DescribeDevice(p, "cam-1", "after the salvage")
			if code := p.Stop(); code != exit.OK {
				t.Errorf("exit code %d\n%s", code, p.Log)
			}
		})
	}
}

func archivesIn(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "archive", "*.archive"))
	if err != nil || len(list) == 0 {
		t.Fatal("no archive", err)
	}
	return list
}

func wholeLogOf(t *testing.T, dir string) string {
	t.Helper()
	out, errs, code := ledgetest.Run(t, "log", "--data-dir", dir)
	if code != exit.OK {
		t.Fatal(errs)
	}
	return out
}
