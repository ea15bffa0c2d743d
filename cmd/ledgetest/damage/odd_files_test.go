//go:build unix

package damage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestOddFilesAreRefused puts a FIFO, or a link, in place of each file that Ledge opens: a start ends at once with exit code 5 and
// names it. It would wait for ever otherwise.
func TestOddFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if code := ledgetest.Start(t, dir).Stop(); code != exit.OK {
		t.Fatal(code)
	}
	stream := "nats/jetstream/LEDGE/streams/LEDGE_EVENTS/"
	for i, name := range []string{
		"state.db", "notifications.db", "readings.db", "secrets.json", "secrets.json.new", datadir.LockFile, datadir.SpareFile,
		"nats/LEDGE_EVENTS.manifest", stream + "meta.inf", stream + "meta.sum", stream + "msgs/1.blk", stream + "msgs/index.db",
	} {
		path := filepath.Join(dir, name)
		kept := path + "-kept" // not beside what it is a prefix of: these names are looked at too
		if strings.HasPrefix(name, "nats/") {
			kept = filepath.Join(t.TempDir(), "kept")
		}
		there := os.Rename(path, kept) == nil
		kind, err := "FIFO", unix.Mkfifo(path, 0o600)
		if i%2 == 1 {
			_ = os.Remove(path)
			kind, err = "symbolic link", os.Symlink(kept, path)
		}
		if err != nil {
			t.Fatal(err)
		}
		p := ledgetest.Launch(t, dir)
		if code := p.Wait(); code != exit.Folder || !strings.Contains(p.Log.String(), path) || !strings.Contains(p.Log.String(), "it is a "+kind) {
			t.Errorf("a %s in place of %s: exit code %d\n%s", kind, name, code, p.Log)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if there {
			if err := os.Rename(kept, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := ledgetest.Start(t, dir).Stop(); code != exit.OK {
		t.Errorf("afterwards: exit code %d", code)
	}
}

// TestOddFilesBesideCommands has the commands that only read meet a FIFO: they end, and say what it is.
func TestOddFilesBesideCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code := ledgetest.Start(t, dir).Stop(); code != exit.OK {
		t.Fatal(code)
	}
	for name, want := range map[string]string{datadir.LockFile: "", "state.db": "not a regular file", "secrets.json": "FIFO"} {
		path := filepath.Join(dir, name)
		_ = os.Rename(path, filepath.Join(t.TempDir(), "kept"))
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"verify"}, {"salvage", filepath.Join(t.TempDir(), "new")}} {
			out, errs, _ := ledgetest.Run(t, append(args, "--data-dir", dir)...)
			if args[0] == "verify" && !strings.Contains(out+errs, want) || strings.Contains(errs, "panic") {
				t.Errorf("%s with a FIFO in place of %s: %s%s", args[0], name, out, errs)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
