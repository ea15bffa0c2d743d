package damage

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestBackup backs up a node that runs and the same one when it is stopped, restores both, and compares all answers.
func TestBackup(t *testing.T) {
	from := ledgetest.NewFolder(t)
	p := ledgetest.Start(t, from)
	want := answers(p)
	running, _ := ledgetest.MustBackUp(t, from)
	p.AddDevice("later")
	p.Kill()
	leaves := ledgetest.MustLeave(t, from)
	stopped, out := ledgetest.MustBackUp(t, from)
	leaves()
	if !strings.Contains(out, "LEDGE_EVENTS: 1 to 17, chain ") || !strings.Contains(out, "payloads: 3 bodies with 900000 bytes") {
		t.Errorf("printed:\n%s", out)
	}
	for name, file := range map[string]string{"running": running, "stopped": stopped} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			to := filepath.Join(t.TempDir(), "a", "new")
			out, errs, code := ledgetest.Run(t, "restore", file, to)
			if code != exit.OK || strings.Count(out, ": whole") != 4 || !strings.Contains(out, "restored to "+to) {
				t.Fatalf("ledge restore: %d\n%s%s", code, out, errs)
			}
			p := ledgetest.Start(t, to)
			if name == "stopped" {
				if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/later", "", ""); a.Status != http.StatusOK {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				return
			}
			if got := answers(p); got != want {
				t.Errorf("answers:\n%s\nwant\n%s", got, want)
			}
			p.AddDevice("next")
			if code := p.Stop(); code != exit.OK {
				t.Errorf("stop: %d\n%s", code, p.Log)
			}
			if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", to); code != exit.OK {
				t.Errorf("verify: %d\n%s%s", code, out, errs)
			}
			if got, err := os.ReadFile(filepath.Join(to, "secrets.json")); err != nil || !strings.Contains(string(got), "username") {
				t.Errorf("secrets: %v", err)
			}
			if _, errs, code := ledgetest.Run(t, "restore", file, to); code != exit.Folder || !strings.Contains(errs, "is not empty") {
				t.Errorf("restore over it: %d, %s", code, errs)
			}
			if _, errs, code := ledgetest.Run(t, "backup", "--data-dir", to, file); code != exit.Usage || !strings.Contains(errs, "is not overwritten") {
				t.Errorf("backup over one: %d, %s", code, errs)
			}
		})
	}
}

// TestBackupOfDamage holds that nothing is written of a folder that is not whole.
func TestBackupOfDamage(t *testing.T) {
	from := ledgetest.NewFolder(t)
	file := filepath.Join(t.TempDir(), "ledge.backup")
	for name, do := range map[string]func(dir string){
		"an event": func(dir string) {
			ledgetest.Alter(t, ledgetest.Block(dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		},
		"a body": func(dir string) {
			ledgetest.Remove(t, filepath.Join(dir, "payloads", ledgetest.DigestOf(strings.Repeat("1", 300_000))))
		},
		"another body": func(dir string) {
			ledgetest.Alter(t, filepath.Join(dir, "payloads", ledgetest.DigestOf(strings.Repeat("2", 300_000))), func(b []byte) []byte { b[0] ^= 1; return b })
		},
		"the secrets": func(dir string) {
			ledgetest.Alter(t, filepath.Join(dir, "secrets.json"), func(b []byte) []byte { return b[1:] })
		},
	} {
		dir := ledgetest.Clone(t, from)
		do(dir)
		if _, errs, code := ledgetest.Run(t, "backup", "--data-dir", dir, file); code != exit.Damaged {
			t.Errorf("%s: %d, %s", name, code, errs)
		}
	}
	if left, _ := filepath.Glob(filepath.Dir(file) + "/*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestBackupUnderLoad backs up a node that is written to, with readings that are removed meanwhile: the restored folder is
// whole, as restore verifies, and has each change that was answered before the backup began.
func TestBackupUnderLoad(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	for i := range 5 {
		p.PostImage(strings.Repeat(fmt.Sprint("early", i), 60_000))
	}
	p.AddDevice("before")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_, _ = ledgetest.TryCall("POST", p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat(fmt.Sprint(i, " "), 100_000))
			_, _ = ledgetest.TryCall("POST", p.Metadata+"/api/v2/device", "application/json", "["+ledgetest.DeviceJSON(fmt.Sprint("load-", i))+"]")
		}
	}()
	file, _ := ledgetest.MustBackUp(t, dir)
	close(stop)
	<-done
	to := filepath.Join(t.TempDir(), "new")
	if out, errs, code := ledgetest.Run(t, "restore", file, to); code != exit.OK {
		t.Fatalf("%d\n%s%s", code, out, errs)
	}
	if out, _, _ := ledgetest.Run(t, "log", "--data-dir", to); !strings.Contains(out, "device before added") || strings.Count(out, "image/jpeg") < 5 {
		t.Errorf("the log has\n%s", out)
	}
}
