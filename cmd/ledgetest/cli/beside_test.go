package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node/nodetest"
	"ledge/cmd/ledgetest"
)

// TestCommandsBesideServer holds that local commands need no bus, and make and change no file beside a running server.
func TestCommandsBesideServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--nats-port", "-1")
	p.AddDevice("one")
	before := strings.Join(filesBelow(t, dir), "\n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"log"}, "device.added/1  device one added"},
		{[]string{"log", "-n", "1", "--subject", "ledge.event.>", "--json"}, `"name":"one"`},
		{[]string{"verify"}, "state: not compared, process "},
		{[]string{"backup", filepath.Join(t.TempDir(), "ledge.tar")}, "written to "},
		{[]string{"user", "list"}, "admin"},
	} {
		out, errs, code := ledgetest.Run(t, append(c.args, "--data-dir", dir)...)
		if code != exit.OK || !strings.Contains(out, c.says) || errs != "" {
			t.Errorf("ledge %v: exit code %d\n%s%s", c.args, code, out, errs)
		}
	}
	if after := strings.Join(filesBelow(t, dir), "\n"); after != before {
		t.Errorf("the files were\n%s\nand are\n%s", before, after)
	}
}

// filesBelow lists all files below a folder.
func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	ledgetest.MustDo(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// TestVerifyEndsADamagedServer holds that `ledge verify` beside a running server names damage of its log, and that the server ends.
func TestVerifyEndsADamagedServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--nats-port", "-1")
	p.AddDevice("one")
	path := filepath.Join(dir, "nats/jetstream/LEDGE/streams/LEDGE_EVENTS/msgs/1.blk")
	text, err := os.ReadFile(path)
	ledgetest.MustDo(t, err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	ledgetest.MustDo(t, err)
	_, err = f.WriteAt([]byte{text[200] ^ 1}, 200) // in the first event
	ledgetest.MustDo(t, err)
	ledgetest.MustDo(t, f.Close())
	out, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir)
	if code != exit.Damaged || !strings.Contains(errs, "LEDGE_EVENTS is damaged at sequence 1") || !strings.Contains(out, "state: not compared") {
		t.Errorf("ledge verify: exit code %d\n%s%s", code, out, errs)
	}
	if code := p.Wait(); code != exit.Damaged {
		t.Errorf("the server ends with exit code %d\n%s", code, p.Log)
	}
}

// TestManyFollow holds that as many `ledge log -f` as are allowed leave room for other commands.
func TestManyFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--nats-port", "-1")
	var all []*ledgetest.Output
	for range 12 {
		out := &ledgetest.Output{More: make(chan struct{}, 1)}
		follow := exec.Command(ledgetest.Binary, "log", "-f", "--data-dir", dir)
		follow.Stdout = out
		ledgetest.MustDo(t, follow.Start())
		t.Cleanup(func() { _ = follow.Process.Kill(); _ = follow.Wait() })
		all = append(all, out)
	}
	if out, errs, code := ledgetest.Run(t, "user", "list", "--data-dir", dir); code != exit.OK {
		t.Errorf("ledge user list: exit code %d\n%s%s", code, out, errs)
	}
	for _, out := range all {
		ledgetest.Until(t, "all to print a change", func() bool { p.AddDevice(nodetest.NewID()); _, there := out.Find("device.added/1"); return there })
	}
}
