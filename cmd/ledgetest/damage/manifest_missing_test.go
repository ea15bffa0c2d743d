package damage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/cmd/ledgetest"
	"ledge/projections"
	"ledge/store"
)

// serveAnywhere are the arguments of a server on ports that are free.
var serveAnywhere = []string{
	"serve", "--metadata-port", "0", "--device-rest-port", "0", "--notifications-port", "0", "--console-port", "0", "--data-port", "0", "--nats-port", "0",
}

// TestManifestOfArchivedLogIsMissing removes the manifest of a log whose beginning is archived: the archives say where the log begins. Before,
// every command but salvage ended with exit code 6, and salvage declared all archived events lost.
func TestManifestOfArchivedLogIsMissing(t *testing.T) {
	t.Parallel()
	from, _ := ledgetest.Archived(t)
	mustUnlink(t, filepath.Join(from, "nats", "LEDGE_EVENTS.manifest"))
	for name, without := range map[string]string{"whole": "", "no snapshot": "snapshots", "no archive": "archive"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := ledgetest.Clone(t, from)
			if without != "" {
				if err := os.RemoveAll(filepath.Join(dir, without)); err != nil {
					t.Fatal(err)
				}
			}
			run := func(want string, args ...string) {
				t.Helper()
				out, errs, code := ledgetest.Run(t, append(args, "--data-dir", dir)...)
				if code != exit.OK || !strings.Contains(out+errs, want) {
					t.Errorf("ledge %s: exit code %d, want %q\n%s%s", args, code, want, out, errs)
				}
			}
			run("LEDGE_EVENTS.manifest: not there; the next start reads the whole log and writes it", "verify")
			run("written to", "backup", filepath.Join(t.TempDir(), "backup.tar"))
			run("device.added", "log")
			salvaged := filepath.Join(t.TempDir(), "salvaged")
			run("all was whole", "salvage", salvaged)
			run("rebuilt", "rebuild")
			for _, dir := range []string{dir, salvaged} {
				p := ledgetest.Start(t, dir)
				for _, cam := range []string{"cam-1", "cam-2", "cam-3"} {
					if !p.HasDevice(cam) {
						t.Errorf("%s is lost", cam)
					}
				}
				if code := p.Stop(); code != exit.OK {
					t.Errorf("exit code %d\n%s", code, p.Log)
				}
				ledgetest.Verify(t, dir)
			}
		})
	}
}

// TestOddManifest has a folder in the place of a manifest. Before, all commands ended with 1.
func TestOddManifest(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	path := filepath.Join(dir, "nats", "LEDGE_READINGS.manifest")
	mustUnlink(t, path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify"}, {"rebuild"}, {"backup", filepath.Join(t.TempDir(), "b.tar")}, {"salvage", filepath.Join(t.TempDir(), "s")}, serveAnywhere} {
		if _, errs, code := ledgetest.Run(t, append(args, "--data-dir", dir)...); code != exit.Folder || !strings.Contains(errs, "it is a folder") {
			t.Errorf("ledge %s: exit code %d: %s", args, code, errs)
		}
	}
}

// TestBackupWithoutDescription has something in the place of meta.inf that cannot be read. Before, backup ended with 1, and verify with 0.
func TestBackupWithoutDescription(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	path := filepath.Join(ledgetest.StreamFolder(dir, "LEDGE_EVENTS"), "meta.inf")
	mustUnlink(t, path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	ledgetest.Verify(t, dir)
	file, restored := filepath.Join(t.TempDir(), "b.tar"), filepath.Join(t.TempDir(), "restored")
	for _, args := range [][]string{{"backup", "--data-dir", dir, file}, {"restore", file, restored}} {
		if _, errs, code := ledgetest.Run(t, args...); code != exit.OK {
			t.Fatalf("ledge %s: exit code %d: %s", args, code, errs)
		}
	}
	p := ledgetest.Start(t, restored)
	if !p.HasDevice("cam-5") {
		t.Error("cam-5 is not restored")
	}
	p.Stop()
}

// TestNodeIDs holds that all files of a data folder have one id, also those that had none.
func TestNodeIDs(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	id := func(stream string) string {
		text, err := os.ReadFile(filepath.Join(dir, "nats", stream+".manifest"))
		var m struct{ Manifest struct{ Node string } }
		if err = errors.Join(err, json.Unmarshal(text, &m)); err != nil {
			t.Fatal(err)
		}
		return m.Manifest.Node
	}
	same := func(when string) (first string) {
		t.Helper()
		first = id("LEDGE_EVENTS")
		for i, stream := range store.Streams() {
			if got := id(stream); got != first || got == "" {
				t.Errorf("%s: %s has %q, LEDGE_EVENTS %q", when, stream, got, first)
			}
			err := projections.Inspect(projections.Options{Path: filepath.Join(dir, datadir.StateFiles[i]), Tables: node.Tables[i]}, func(in *projections.Inspection) error {
				if in.Node() != first {
					return fmt.Errorf("it has %q", in.Node())
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %s: %v", when, datadir.StateFiles[i], err)
			}
		}
		return first
	}
	first := same("new")
	mustUnlink(t, filepath.Join(dir, "notifications.db"))
	mustUnlink(t, filepath.Join(dir, "nats", "LEDGE_READINGS.manifest"))
	ledgetest.Start(t, dir).Stop()
	if again := same("with two files lost"); again != first {
		t.Errorf("the id was %s, and is %s", first, again)
	}
	ledgetest.Verify(t, dir)
}

// TestManifestAndFirstReadingsAreMissing removes the manifest and the first block file of the readings. Before, verify called the log whole, and 41 of 60
// readings were gone.
func TestManifestAndFirstReadingsAreMissing(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	p := ledgetest.Start(t, from)
	for i := range 40 {
		p.PostImage(strings.Repeat(fmt.Sprint(i%10), 250_000))
	}
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	mustUnlink(t, filepath.Join(from, "nats", "LEDGE_READINGS.manifest"))
	mustUnlink(t, ledgetest.Block(from, "LEDGE_READINGS", "1"))
	for without, says := range map[string]string{"": "the projection has event 1", "readings.db": "index.db has event 1"} {
		dir := ledgetest.Clone(t, from)
		if without != "" {
			mustUnlink(t, filepath.Join(dir, without))
		}
		for _, args := range [][]string{{"verify"}, serveAnywhere, {"backup", filepath.Join(t.TempDir(), "b.tar")}} {
			if _, errs, code := ledgetest.Run(t, append(args, "--data-dir", dir)...); code != exit.Damaged || !strings.Contains(errs, says) {
				t.Errorf("without %q, ledge %s: exit code %d: %s", without, args, code, errs)
			}
		}
		salvaged := filepath.Join(t.TempDir(), "salvaged")
		if out, errs, code := ledgetest.Run(t, "salvage", salvaged, "--data-dir", dir); code != exit.Partial || !strings.Contains(out, "lost: LEDGE_READINGS 1 to ") {
			t.Errorf("salvage: exit code %d: %s%s", code, out, errs)
		}
		ledgetest.Verify(t, salvaged)
	}
}

// TestSalvageOfOlderChanges salvages an older copy of the changes beside newer notifications, with and without the state that knows their position:
// the lost end is there as lost events, so that new devices raise notifications.
func TestSalvageOfOlderChanges(t *testing.T) {
	t.Parallel()
	older := newFolder(t)
	newer := ledgetest.Clone(t, older)
	p := ledgetest.Start(t, newer)
	for i := range 3 {
		p.AddDevice(fmt.Sprintf("later-%d", i))
	}
	ledgetest.AwaitNotified(t, p)
	p.Stop()
	for _, without := range []string{"", "notifications.db"} {
		dir, salvaged := ledgetest.Clone(t, older), filepath.Join(t.TempDir(), "salvaged")
		replaceNotifications(t, newer, dir)
		if without != "" {
			mustUnlink(t, filepath.Join(dir, without))
		}
		if out, errs, code := ledgetest.Run(t, "salvage", salvaged, "--data-dir", dir); code != exit.Partial || !strings.Contains(out, "lost: LEDGE_EVENTS 17 to 19") {
			t.Errorf("without %q: exit code %d: %s%s", without, code, out, errs)
			continue
		}
		p := ledgetest.Start(t, salvaged)
		p.AddDevice("new")
		ledgetest.AwaitNotified(t, p)
		p.Stop()
		ledgetest.Verify(t, salvaged)
	}
}
