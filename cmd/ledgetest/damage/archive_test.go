package damage

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestArchive closes a stretch of the log with the real program: the log is shorter, `ledge log` prints it all the same, and
// the state comes back from the snapshot.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir, path := ledgetest.Archived(t)
	file := filepath.Base(path)
	ledgetest.MustUnlink(t, filepath.Join(dir, "state.db"))
	p := ledgetest.Start(t, dir)
	if _, ok := p.Log.Find("the state begins with a snapshot"); !ok {
		t.Errorf("the state does not come from the snapshot\n%s", p.Log)
	}
	for _, name := range []string{"cam-1", "cam-2", "cam-3"} {
		if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/"+name, "", ""); a.Status != http.StatusOK {
			t.Errorf("%s: %d %.200s", name, a.Status, a.Body)
		}
	}
	beside := wholeLog(t, dir)
	holdFiltersOverArchives(t, dir)
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/metrics", "", ""); !strings.Contains(a.Body, `"archives":1`) {
		t.Errorf("metrics: %s", a.Body)
	}
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	if wholeLog(t, dir) != beside {
		t.Error("the log is another one beside the server than without it")
	}
	if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir); code != exit.OK || !strings.Contains(out, "archives: whole, 1 files") || !strings.Contains(out, "state.db: equals the fold of LEDGE_EVENTS") {
		t.Errorf("verify: exit code %d: %s%s", code, out, errs)
	}
	if out, errs, code := ledgetest.Run(t, "archive", "--data-dir", dir); code != exit.OK || !strings.Contains(out, "public key: ") || !strings.Contains(out, file+": events 1 to ") {
		t.Errorf("archive: exit code %d: %s%s", code, out, errs)
	}
}

// holdFiltersOverArchives compares what is chosen by time and number with the same choice from the whole history.
func holdFiltersOverArchives(t *testing.T, dir string) {
	t.Helper()
	all := ledgetest.Logged(t, dir)
	if got := ledgetest.Logged(t, dir, "--since", "20h"); !slices.Equal(got, all) { // what is archived here looks 8 hours older to the log
		t.Errorf("--since over archives: %d lines, want %d", len(got), len(all))
	}
	if got := ledgetest.Logged(t, dir, "-n", fmt.Sprint(len(all)-1)); !slices.Equal(got, all[1:]) {
		t.Errorf("-n over archives: %d lines from %+v, want %d from %+v", len(got), got[:min(1, len(got))], len(all)-1, all[1])
	}
}

// wholeLog returns what `ledge log` prints, which is the log from its first event on.
func wholeLog(t *testing.T, dir string) string {
	t.Helper()
	out, errs, code := ledgetest.Run(t, "log", "--data-dir", dir)
	if code != exit.OK || errs != "" || !strings.Contains(out, "  event 1  ") || !strings.Contains(out, "device.added/1  device cam-3") {
		t.Errorf("log: exit code %d: %s\n%.3000s", code, errs, out)
	}
	return out
}

// TestArchiveMissing takes archive, snapshot and state away, one after the other, and damages the archive: each is named, and
// the state comes back as long as one of archive and snapshot is there.
func TestArchiveMissing(t *testing.T) {
	t.Parallel()
	dir, file := ledgetest.Archived(t)
	snapshots, _ := filepath.Glob(filepath.Join(dir, "snapshots", "*.snapshot"))
	snapshot := snapshots[0]
	gap := "are in archive " + filepath.Base(file) + ", which is not in " + filepath.Join(dir, "archive")
	verify := func(what string, want int, text string) {
		t.Helper()
		if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir); code != want || !strings.Contains(out+errs, text) {
			t.Errorf("verify %s: exit code %d, want %d and %q: %s%s", what, code, want, text, out, errs)
		}
	}
	mustRename(t, file, file+".away")
	if out, errs, code := ledgetest.Run(t, "log", "--data-dir", dir); code != exit.OK || !strings.Contains(errs, gap) || strings.Contains(out, "  event 1  ") || !strings.Contains(out, "device cam-3") {
		t.Errorf("log without the archive: exit code %d: %s\n%.500s", code, errs, out)
	}
	verify("without the archive", exit.OK, gap)
	backup, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	if out, errs, code := ledgetest.Run(t, "backup", "--data-dir", dir, backup); code != exit.OK {
		t.Fatalf("backup: exit code %d: %s%s", code, out, errs)
	}
	if out, errs, code := ledgetest.Run(t, "restore", backup, restored); code != exit.OK || !strings.Contains(errs, "the state begins with a snapshot") {
		t.Fatalf("restore: exit code %d, or the state does not come from the snapshot of the backup: %s%s", code, out, errs)
	}
	p := ledgetest.Start(t, restored)
	ledgetest.DescribeDevice(p, "cam-2", "another one")
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	salvaged := filepath.Join(t.TempDir(), "salvaged")
	if out, errs, code := ledgetest.Run(t, "salvage", "--data-dir", dir, salvaged); code != exit.OK {
		t.Errorf("salvage: exit code %d: %s%s", code, out, errs)
	}
	if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", salvaged); code != exit.OK || !strings.Contains(out, "snapshot: whole") {
		t.Errorf("verify of what is salvaged: exit code %d: %s%s", code, out, errs)
	}
	mustRename(t, file+".away", file)
	mustRename(t, snapshot, snapshot+".away")
	ledgetest.MustUnlink(t, filepath.Join(dir, "state.db"))
	p = ledgetest.Start(t, dir)
	if _, ok := p.Log.Find("the state is folded from the archives"); !ok {
		t.Errorf("the state does not come from the archives\n%s", p.Log)
	}
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	verify("without the snapshot", exit.OK, "archives: whole")
	mustRename(t, file, file+".away")
	verify("without archive and snapshot", exit.OK, "archives: not verified: ")
	ledgetest.MustUnlink(t, filepath.Join(dir, "state.db"))
	verify("without archive, snapshot and state", exit.Damaged, "put it there") // 0 before
	p = ledgetest.Launch(t, dir)
	if code := p.Wait(); code != exit.Damaged || !strings.Contains(p.Log.String(), filepath.Join(dir, "archive")) {
		t.Errorf("serve without archive, snapshot and state: exit code %d\n%s", code, p.Log)
	}
	mustRename(t, snapshot+".away", snapshot)
	mustRename(t, file+".away", file)
	flipByte(t, file)
	verify("with a damaged archive", exit.Damaged, filepath.Base(file))
	flipByte(t, file)
	flipByte(t, snapshot)
	verify("with a damaged snapshot", exit.Damaged, filepath.Base(snapshot))
}

// TestArchiveDamaged damages an archive. Before, ledge log ended at it with 1 and printed nothing, and a start that needs it ended with 1.
func TestArchiveDamaged(t *testing.T) {
	t.Parallel()
	dir, file := ledgetest.Archived(t)
	flipByte(t, file)
	gap := regexp.MustCompile(`not printed: LEDGE_EVENTS: events \d+ to \d+ are in an archive that is damaged: .*` + filepath.Base(file) + `.*; restore the file from a backup`)
	for _, args := range [][]string{{"log"}, {"log", "--since", "100000h"}, {"log", "-n", "1000"}} {
		out, errs, code := ledgetest.Run(t, append(args, "--data-dir", dir)...)
		if code != exit.OK || len(gap.FindAllString(errs, -1)) != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(out, "device cam-3") {
			t.Errorf("%v: exit code %d: %s\n%.500s", args, code, errs, out)
		}
	}
	p := ledgetest.Start(t, dir) // from state.db
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	ledgetest.MustUnlink(t, ledgetest.SnapshotsIn(dir)[0])
	ledgetest.MustUnlink(t, filepath.Join(dir, "state.db"))
	p = ledgetest.Launch(t, dir)
	if code := p.Wait(); code != exit.Damaged || !strings.Contains(p.Log.String(), filepath.Base(file)) || !strings.Contains(p.Log.String(), "restore the file from a backup") {
		t.Errorf("serve without snapshot and state: exit code %d\n%s", code, p.Log)
	}
}

func mustRename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// flipByte changes one byte in the middle of a file.
func flipByte(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		text[len(text)/2] ^= 1
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
