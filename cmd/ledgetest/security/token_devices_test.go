package security

import (
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// An empty list of devices is not one of all devices, and the list of tokens shows which ones a poster may post to.
func TestTokenDevices(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	ledgetest.Start(t, dir).Stop()
	for _, devices := range []string{"", "cam-1,"} {
		out, errs, code := ledgetest.Run(t, "token", "create", "none", "--devices", devices, "--data-dir", dir)
		if code != exit.Usage || out != "" || !strings.Contains(errs, "give * for all") {
			t.Errorf("--devices %q: exit code %d, %s%s", devices, code, out, errs)
		}
	}
	for name, args := range map[string][]string{"all": {"--devices", "*"}, "unsaid": nil, "some": {"--devices", "cam-*"}, "reader": {"--role", "viewer"}} {
		if _, errs, code := ledgetest.Run(t, append([]string{"token", "create", name, "--data-dir", dir}, args...)...); code != exit.OK {
			t.Errorf("%s: %s", name, errs)
		}
	}
	out, _, _ := ledgetest.Run(t, "token", "list", "--data-dir", dir)
	shown := map[string]string{}
	for line := range strings.Lines(out) {
		if cells := strings.Fields(line); len(cells) > 2 {
			shown[cells[0]] = cells[2]
		}
	}
	for name, want := range map[string]string{"all": "*", "unsaid": "*", "some": "cam-*", "reader": "-"} {
		if shown[name] != want {
			t.Errorf("%s: the list shows %q, want %q", name, shown[name], want)
		}
	}
}
