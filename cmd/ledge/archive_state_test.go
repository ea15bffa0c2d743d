package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

// cams holds that the devices of an aged folder are there, with what was last written.
func (p *process) cams() {
	p.tb.Helper()
	for name, want := range map[string]string{"cam-1": `"description 25"`, "cam-2": `"cam-2"`, "cam-3": `"cam-3"`} {
		if a := p.call(http.MethodGet, p.metadata+"/api/v2/device/name/"+name, "", ""); a.status != http.StatusOK || !strings.Contains(a.body, want) {
			p.tb.Errorf("%s: %d %.300s", name, a.status, a.body)
		}
	}
}

// TestArchiveRebuild throws the state of an archived log away: it is folded from the snapshot where there is one, also
// without the archive, and from the archive where there is none. Without both, or where the archive is damaged, nothing is
// thrown away.
func TestArchiveRebuild(t *testing.T) {
	t.Parallel()
	dir, file := archived(t)
	snapshot := snapshotsIn(dir)[0]
	rebuild := func(what, text, compared string) {
		t.Helper()
		if out, errs, code := ledge(t, "rebuild", "--data-dir", dir); code != exit.OK || !strings.Contains(out+errs, text) {
			t.Errorf("rebuild %s: exit code %d, want %q: %s%s", what, code, text, out, errs)
		}
		if out, errs, code := ledge(t, "verify", "--data-dir", dir); code != exit.OK || !strings.Contains(out, compared) {
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
	verify(t, dir)
	mustUnlink(t, snapshot)
	p := start(t, dir)
	p.cams()
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	before, err := os.ReadFile(filepath.Join(dir, datadir.StateFiles[0]))
	mustDo(t, err)
	refused := func(what, text string) {
		t.Helper()
		if out, errs, code := ledge(t, "rebuild", "--data-dir", dir); code != exit.Damaged || !strings.Contains(errs, text) {
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
	dir, _ := archived(t)
	for _, from := range []string{"snapshot", "archive"} {
		if from == "archive" {
			mustUnlink(t, snapshotsIn(dir)[0])
		}
		p := start(t, dir)
		zeroPages(t, filepath.Join(dir, datadir.StateFiles[0]), 4)
		_, _ = tryCall(http.MethodGet, p.metadata+"/api/v2/device/all", "", "")
		if code := p.wait(); code != exit.State {
			t.Errorf("exit code %d\n%s", code, p.log)
		}
		p = start(t, dir)
		p.cams()
		if code := p.stop(); code != exit.OK {
			t.Errorf("from the %s: exit code %d\n%s", from, code, p.log)
		}
		verify(t, dir)
		mustDo(t, os.RemoveAll(filepath.Join(dir, datadir.StateFiles[0]+".damaged")))
	}
}

// TestArchiveBackup backs a node up before, while and after a stretch is closed. What is restored, with a copy of the archives,
// has every change from event 1 on.
func TestArchiveBackup(t *testing.T) {
	t.Parallel()
	dir := aged(t)
	var files []string
	backUp := func() {
		file, _ := mustBackUp(t, dir)
		files = append(files, file)
	}
	backUp()
	p := start(t, dir, "--events-max-age", agedOut[2])
	backUp()
	p.waitLog(`"msg":"a stretch of the log of changes is archived"`)
	backUp()
	if code := p.stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.log)
	}
	for _, file := range files {
		to := filepath.Join(t.TempDir(), "restored")
		if out, errs, code := ledge(t, "restore", file, to); code != exit.OK {
			t.Fatalf("restore: exit code %d: %s%s", code, out, errs)
		}
		copyTree(t, filepath.Join(dir, "archive"), filepath.Join(to, "archive"), everything)
		if err := wholeHistory(to); err != nil {
			t.Error(err)
		}
		if out, errs, code := ledge(t, "verify", "--data-dir", to); code != exit.OK {
			t.Errorf("verify: exit code %d: %s%s", code, out, errs)
		}
		p := start(t, to, "--events-max-age", agedOut[2]) // the log that is not archived yet meets the archive of the other
		p.cams()
		until(t, "the log to be archived", func() bool { return firstBlock(to) != 1 || len(snapshotsIn(to)) > 0 })
		if code := p.stop(); code != exit.OK {
			t.Fatalf("exit code %d\n%s", code, p.log)
		}
		if err := wholeHistory(to); err != nil {
			t.Error(err)
		}
	}
}
