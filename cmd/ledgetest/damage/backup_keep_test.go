package damage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// `ledge backup --keep` names the backups in a folder itself, removes the oldest of these names and leaves all other files alone.
func TestKeptBackups(t *testing.T) {
	data, dir := filepath.Join(t.TempDir(), "data"), t.TempDir()
	ledgetest.Start(t, data).Stop()
	old := []string{"ledge-20260101T000000Z.tar", "ledge-20260102T000000Z.tar", "ledge-20260103T000000Z.tar"}
	others := []string{"before-upgrade.tar", "ledge-20260101.tar", "mine.tar.partial"}
	for _, name := range slices.Concat(old, others) {
		ledgetest.MustDo(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	out, errs, code := ledgetest.Run(t, "backup", "--data-dir", data, "--keep", "2", "--json", dir)
	var report struct {
		File    string   `json:"file"`
		Removed []string `json:"removed"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exit.OK {
		t.Fatalf("exit code %d, %v, %s%s", code, err, out, errs)
	}
	if want := []string{filepath.Join(dir, old[0]), filepath.Join(dir, old[1])}; !slices.Equal(report.Removed, want) {
		t.Errorf("it has removed %v, want %v", report.Removed, want)
	}
	var left []string
	list, err := os.ReadDir(dir)
	ledgetest.MustDo(t, err)
	for _, e := range list {
		left = append(left, e.Name())
	}
	want := append([]string{old[2], filepath.Base(report.File)}, others...)
	if slices.Sort(want); !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	_, errs, code = ledgetest.Run(t, "restore", report.File, filepath.Join(t.TempDir(), "restored"))
	if code != exit.OK || strings.Contains(errs, "WARN") {
		t.Errorf("its restore, which warns of nothing: exit code %d, %s", code, errs)
	}
	for says, args := range map[string][]string{
		"is a folder; name a new file":          {dir},
		"name a folder for the backups":         {filepath.Join(dir, "missing"), "--keep", "2"},
		"is not a folder":                       {report.File, "--keep", "2"},
		"-1 backups cannot be kept; use a":      {dir, "--keep", "-1"},
		"is there already, and is not overwrit": {report.File},
	} {
		_, errs, code := ledgetest.Run(t, append([]string{"backup", "--data-dir", data}, args...)...)
		if code != exit.Usage || !strings.Contains(errs, says) {
			t.Errorf("%v: exit code %d, %s; want %q", args, code, errs, says)
		}
	}
}
