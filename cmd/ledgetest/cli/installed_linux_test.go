package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// Commands without --config and --data-dir work on the installed node, if the working directory has no data folder.
func TestInstalledSettings(t *testing.T) {
	const inside = `mount -t tmpfs tmpfs /etc && mkdir /etc/ledge && cp "$0" /etc/ledge/ledge.yaml && exec "$@"`
	settings := ledgetest.MustWriteFile(t, "ledge.yaml", "data-dir: /var/lib/ledge-of-a-test\nresend-limit: 7\n")
	if out, err := exec.Command("unshare", "-m", "sh", "-c", inside, settings, "true").CombinedOutput(); err != nil {
		t.Skipf("the test needs a mount namespace, so root: %v: %s", err, out)
	}
	run := func(dir string, args ...string) string {
		args = append([]string{"-m", "sh", "-c", inside, settings, ledgetest.Binary}, args...)
		cmd := exec.CommandContext(t.Context(), "unshare", args...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	empty, local := t.TempDir(), t.TempDir()
	ledgetest.MustDo(t, os.Mkdir(filepath.Join(local, "data"), 0o700))
	other := ledgetest.MustWriteFile(t, "other.yaml", "data-dir: elsewhere\n")
	for _, tt := range []struct {
		dir  string
		args []string
		says string
	}{
		{empty, []string{"config", "--changed"}, `resend-limit: "7" # from /etc/ledge/ledge.yaml`},
		{empty, []string{"log"}, "no data folder /var/lib/ledge-of-a-test"},
		{empty, []string{"user", "list"}, "no data folder /var/lib/ledge-of-a-test"},
		{empty, []string{"log", "--data-dir", "mine"}, "no data folder mine"},
		{empty, []string{"log", "--config", other}, "no data folder elsewhere"},
		{local, []string{"log"}, "no data folder ./data"},
	} {
		if out := run(tt.dir, tt.args...); !strings.Contains(out, tt.says) {
			t.Errorf("%v in %s: %s; want %q", tt.args, tt.dir, out, tt.says)
		}
	}
	if list, _ := os.ReadDir(empty); len(list) > 0 {
		t.Errorf("the commands have left %v", list)
	}
}
