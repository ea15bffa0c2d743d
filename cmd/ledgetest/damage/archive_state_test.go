package damage

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/storetest"
)

// cams holds that the devices of an aged folder are there, with what was last written.
func cams(p *ledgetest.Node) {
	p.TB.Helper()
	for name, want := range map[string]string{"cam-1": `"description 25"`, "cam-2": `"cam-2"`, "cam-3": `"cam-3"`} {
		if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/"+name, "", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, want) {
			p.TB.Errorf("%s: %d %.300s", name, a.Status, a.Body)
		}
	}
}

// TestArchiveRebuild throws the state of an archived log away: it is folded from the snapshot where there is one, also
// without the archive, and from the archive where there is none. Without both, or where the archive is damaged, nothing is
// thrown away.
func TestArchiveRebuild(t *testing.T) {
	t.Parallel()
	dir, file := ledgetest.Archived(t)
	snapshot := ledgetest.SnapshotsIn(dir)[0]
	rebuild := func(what, text, compared string) {
		t.Helper()
		if out, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != exit.OK || !strings.Contains(out+errs, text) {
			t.Errorf("rebuild %s: exit code %d, want %q: %s%s", what, code, text, out, errs)
		}
		if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir); code != exit.OK || !strings.Contains(out, compared) {
			t.Errorf("verify %s: exit code %d, want %q: %s%s", what, code, compared, out, errs)
		}
	}
	rebuild("with both", "the state begins with a snapshot", "state.db: equals the fold")
	mustRename(t, file, file+".away")
	rebuild("without the archive", "the state begins with a snapshot", "state.db: equals the fold")
	mustRename(t, file+".away", file)
	mustRename(t, snapshot, snapshot+".away")
	rebuild("without the snapshot", "the state is folded from the archives", "no whole snapshot of the state as of event")
	mustRename(t, snapshot+".away", snapshot)
	ledgetest.Verify(t, dir)
	mustUnlink(t, snapshot)
	p := ledgetest.Start(t, dir)
	cams(p)
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	before, err := os.ReadFile(filepath.Join(dir, datadir.StateFiles[0]))
	ledgetest.MustDo(t, err)
	refused := func(what, text string) {
		t.Helper()
		if out, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != exit.Damaged || !strings.Contains(errs, text) {
			t.Errorf("rebuild with %s and no snapshot: exit code %d: %s%s", what, code, out, errs)
		}
		if after, err := os.ReadFile(filepath.Join(dir, datadir.StateFiles[0])); err != nil || len(after) != len(before) {
			t.Errorf("rebuild with %s: the state is thrown away: %d bytes, want %d: %v", what, len(after), len(before), err)
		}
	}
	flipByte(t, file)
	refused("a damaged archive", filepath.Base(file))
	mustUnlink(t, file)
	refused("no archive", "not in "+filepath.Dir(file))
}

// TestArchiveStateDamage zeroes the pages of the state under a service whose first changes are archived: the next start folds it from the
// snapshot, and, without one, from the archive.
func TestArchiveStateDamage(t *testing.T) {
	t.Parallel()
	dir, _ := ledgetest.Archived(t)
	for _, from := range []string{"snapshot", "archive"} {
		if from == "archive" {
			mustUnlink(t, ledgetest.SnapshotsIn(dir)[0])
		}
		p := ledgetest.Start(t, dir)
		storetest.ZeroPages(t, filepath.Join(dir, datadir.StateFiles[0]), 4)
		_, _ = ledgetest.TryCall(http.MethodGet, p.Metadata+"/api/v2/device/all", "", "")
		if code := p.Wait(); code != exit.State {
			t.Errorf("exit code %d\n%s", code, p.Log)
		}
		p = ledgetest.Start(t, dir)
		cams(p)
		if code := p.Stop(); code != exit.OK {
			t.Errorf("from the %s: exit code %d\n%s", from, code, p.Log)
		}
		ledgetest.Verify(t, dir)
		ledgetest.MustDo(t, os.RemoveAll(filepath.Join(dir, datadir.StateFiles[0]+".damaged")))
	}
}

// TestArchiveBackup backs a node up before, while and after a stretch is closed. What is restored, with a copy of the archives,
// has every change from event 1 on.
func TestArchiveBackup(t *testing.T) {
	t.Parallel()
	dir := ledgetest.Split(t)
	var files []string
	backUp := func() {
		file, _ := ledgetest.MustBackUp(t, dir)
		files = append(files, file)
	}
	backUp()
	p := ledgetest.Start(t, dir, "--events-max-bytes", ledgetest.ArchiveAll)
	backUp()
	p.WaitLog(`"msg":"a stretch of the log of changes is archived"`)
	backUp()
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	for _, file := range files {
		to := filepath.Join(t.TempDir(), "restored")
		if out, errs, code := ledgetest.Run(t, "restore", file, to); code != exit.OK {
			t.Fatalf("restore: exit code %d: %s%s", code, out, errs)
		}
		ledgetest.CopyTree(t, filepath.Join(dir, "archive"), filepath.Join(to, "archive"), ledgetest.Everything)
		if err := ledgetest.WholeHistory(to); err != nil {
			t.Error(err)
		}
		if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", to); code != exit.OK {
			t.Errorf("verify: exit code %d: %s%s", code, out, errs)
		}
		p := ledgetest.Start(t, to, "--events-max-bytes", ledgetest.ArchiveAll) // the log that is not archived yet meets the archive of the other
		cams(p)
		ledgetest.Until(t, "the log to be archived", func() bool { return ledgetest.FirstBlock(to) != 1 || len(ledgetest.SnapshotsIn(to)) > 0 })
		if code := p.Stop(); code != exit.OK {
			t.Fatalf("exit code %d\n%s", code, p.Log)
		}
		if err := ledgetest.WholeHistory(to); err != nil {
			t.Error(err)
		}
	}
}
