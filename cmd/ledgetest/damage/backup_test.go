package damage

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/backup"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestBackup backs up a node that runs and the same one when it is stopped, restores both, and compares all answers.
func TestBackup(t *testing.T) {
	from := newFolder(t)
	p := ledgetest.Start(t, from)
	want := answers(p)
	running, _ := ledgetest.MustBackUp(t, from)
	p.AddDevice("later")
	p.Kill()
	leaves := mustLeave(t, from)
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
	from := newFolder(t)
	file := filepath.Join(t.TempDir(), "ledge.backup")
	for name, do := range map[string]func(dir string){
		"an event": func(dir string) {
			ledgetest.Alter(t, ledgetest.Block(dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		},
		"a body": func(dir string) {
			ledgetest.Remove(t, filepath.Join(dir, "payloads", digestOf(strings.Repeat("1", 300_000))))
		},
		"another body": func(dir string) {
			ledgetest.Alter(t, filepath.Join(dir, "payloads", digestOf(strings.Repeat("2", 300_000))), func(b []byte) []byte { b[0] ^= 1; return b })
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

// TestDamagedBackup flips bytes all over a backup and cuts it off: it is refused by name, and nothing is made.
func TestDamagedBackup(t *testing.T) {
	file, _ := ledgetest.MustBackUp(t, newFolder(t))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refuses := func(what string, text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		to := datadir.Paths{Data: filepath.Join(t.TempDir(), "new")}
		err := backup.Restore(t.Context(), file, backup.RestoreOptions{Paths: to, Progress: func(string, int64, int64) {}})
		if err == nil || !strings.Contains(err.Error(), "backup "+file+" is damaged: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	flips := 100
	if os.Getenv("TEST_LEDGE_FAULTS") == "all" {
		flips = 10_000
	}
	for i := range flips {
		at := i * len(whole) / flips
		whole[at] ^= 1
		refuses(fmt.Sprint("byte ", at), whole)
		whole[at] ^= 1
	}
	for at := int64(len(whole)) - sealSize - 700; at < int64(len(whole)); at += 13 {
		whole[at] ^= 0x40
		refuses(fmt.Sprint("byte ", at), whole)
		whole[at] ^= 0x40
	}
	for _, n := range []int{0, 1, 512, 2048, len(whole) / 2, len(whole) - 512, len(whole) - 1} {
		refuses(fmt.Sprint("cut to ", n), whole[:n])
	}
	refuses("longer", append(bytes.Clone(whole), 0))
	to := filepath.Join(t.TempDir(), "new")
	if _, errs, code := ledgetest.Run(t, "restore", file, to); code != exit.Damaged || !strings.Contains(errs, "ledge: backup "+file+" is damaged: ") {
		t.Errorf("%d, %s", code, errs)
	}
	if left, _ := filepath.Glob(filepath.Dir(to) + "/*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// sumsEntry is the entry of a backup that lists the SHA-256 of the others.
const sumsEntry = "SHA256SUMS"

// sealSize is how many bytes the end of a backup has that seals it.
const sealSize = 2048

// TestBackupOfAnotherPast holds that the logs in a backup are compared with its manifest.
func TestBackupOfAnotherPast(t *testing.T) {
	file, _ := ledgetest.MustBackUp(t, newFolder(t))
	rewriteBackup(t, file, func(name string, content []byte) (string, []byte) {
		if name == "manifest.json" {
			var m backup.Manifest
			if err := json.Unmarshal(content, &m); err != nil {
				t.Fatal(err)
			}
			e := m.Streams["LEDGE_READINGS"]
			e.Last++
			m.Streams["LEDGE_READINGS"] = e
			content, _ = json.Marshal(m)
		}
		return name, content
	})
	to := filepath.Join(t.TempDir(), "new")
	if _, errs, code := ledgetest.Run(t, "restore", file, to); code != exit.Damaged || !strings.Contains(errs, "LEDGE_READINGS is damaged at sequence 7: the log ends at 6, but the backup's manifest is at 7") {
		t.Errorf("%d, %s", code, errs)
	}
}

// TestBackupOfEarlierVersion restores a backup that has fronts.json in place of the manifests of the logs, as those of earlier versions have.
func TestBackupOfEarlierVersion(t *testing.T) {
	file, _ := ledgetest.MustBackUp(t, newFolder(t))
	fronts := map[string]json.RawMessage{}
	rewriteBackup(t, file, func(name string, content []byte) (string, []byte) {
		stream, isStart := strings.CutSuffix(strings.TrimPrefix(name, "nats/"), ".manifest")
		if name == "nats/fronts.json" {
			t.Error("a new backup has fronts.json")
		}
		if !isStart {
			return name, content
		}
		var start struct {
			Manifest struct{ First json.RawMessage }
		}
		if err := json.Unmarshal(content, &start); err != nil {
			t.Fatal(err)
		}
		if fronts[stream] = start.Manifest.First; len(fronts) < 3 {
			return "", nil
		}
		inner, _ := json.Marshal(fronts)
		inner = bytes.ReplaceAll(inner, []byte(`"seq":`), []byte(`"first":`))
		return "nats/fronts.json", fmt.Appendf(nil, `{"fronts":%s,"sum":"%x"}`, inner, sha256.Sum256(inner))
	})
	if len(fronts) != 3 {
		t.Fatalf("the backup says where %d logs begin", len(fronts))
	}
	to := filepath.Join(t.TempDir(), "new")
	if out, errs, code := ledgetest.Run(t, "restore", file, to); code != exit.OK || strings.Count(out, ": whole") != 4 {
		t.Fatalf("ledge restore: %d\n%s%s", code, out, errs)
	}
	if p := ledgetest.Start(t, to); p.Stop() != exit.OK {
		t.Errorf("stop\n%s", p.Log)
	}
}

// rewriteBackup changes the entries of a backup, and its sums with them. An entry without a name is left out.
func rewriteBackup(t *testing.T, file string, change func(name string, content []byte) (string, []byte)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b, sums bytes.Buffer
	r, w := tar.NewReader(bytes.NewReader(text)), tar.NewWriter(&b)
	for {
		h, err := r.Next()
		if err != nil || h.Name == sumsEntry {
			break
		}
		var entry bytes.Buffer
		_, _ = entry.ReadFrom(r)
		name, content := change(h.Name, entry.Bytes())
		if name == "" {
			continue
		}
		h.Name, h.Size = name, int64(len(content))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(content)
		if !strings.HasPrefix(h.Name, "payloads/") {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), h.Name)
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: sumsEntry, Size: int64(sums.Len())}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(sums.Bytes())
	_ = w.Flush()
	ledgetest.MustWriteSealed(t, file, b.Bytes())
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
