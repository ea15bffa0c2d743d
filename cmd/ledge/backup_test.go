package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestDamagedBackup flips bytes all over a backup and cuts it off: it is refused by name, and nothing is made.
func TestDamagedBackup(t *testing.T) {
	file, _ := ledgetest.MustBackUp(t, ledgetest.NewFolder(t))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refuses := func(what string, text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := openBackup(file)
		if err != nil {
			t.Fatal(err)
		}
		defer b.close()
		if err := b.verify(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "backup "+file+" is damaged: ") {
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
	for at := int64(len(whole)) - tailSize - 700; at < int64(len(whole)); at += 13 {
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

// TestHostileBackup holds that an archive whose sums are right, but that no backup is, is refused and leaves nothing.
func TestHostileBackup(t *testing.T) {
	body := strings.Repeat("a", 100)
	plain := func(name string) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(body))}
	}
	for _, tt := range []struct {
		name    string
		headers []*tar.Header
		says    string
	}{
		{"above the folder", []*tar.Header{plain("../escaped")}, "does not belong to a backup"},
		{"absolute", []*tar.Header{plain("/tmp/escaped")}, "does not belong to a backup"},
		{"a way around", []*tar.Header{plain("payloads/../../escaped")}, "does not belong to a backup"},
		{"another file", []*tar.Header{plain("state.db")}, "does not belong to a backup"},
		{"a link", []*tar.Header{{Typeflag: tar.TypeSymlink, Name: "secrets.json", Linkname: "/etc/passwd"}}, "is no plain file"},
		{"a hard link", []*tar.Header{{Typeflag: tar.TypeLink, Name: "secrets.json", Linkname: "/etc/passwd"}}, "is no plain file"},
		{"a FIFO", []*tar.Header{{Typeflag: tar.TypeFifo, Name: "secrets.json"}}, "is no plain file"},
		{"a folder", []*tar.Header{{Typeflag: tar.TypeDir, Name: "payloads/"}}, "is no plain file"},
		{"twice", []*tar.Header{plain("secrets.json"), plain("secrets.json")}, "is there twice"},
		{"a body of another name", []*tar.Header{plain("payloads/" + strings.Repeat("0f", 32))}, "has the SHA-256"},
		{"an attribute", []*tar.Header{{Typeflag: tar.TypeReg, Name: "secrets.json", Size: int64(len(body)), PAXRecords: map[string]string{"LEDGE.x": "y"}}}, "has the attribute"},
		{"not listed", []*tar.Header{plain("secrets.json")}, "its entries are not those"},
		{"nothing", nil, "the shortest backup has more"},
	} {
		file := filepath.Join(t.TempDir(), "hostile")
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range tt.headers {
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if h.Size > 0 {
				fmt.Fprint(w, body)
			}
		}
		_ = w.Flush()
		mustWriteSealed(t, file, b.Bytes())
		to := filepath.Join(t.TempDir(), "new")
		var errs bytes.Buffer
		code := execute(t.Context(), []string{"restore", file, to}, &errs, &errs)
		if code != exit.Damaged || !strings.Contains(errs.String(), tt.says) {
			t.Errorf("%s: %d, %s; want %q", tt.name, code, &errs, tt.says)
		}
		if left, _ := filepath.Glob(filepath.Dir(to) + "/*"); len(left) != 0 {
			t.Errorf("%s: left: %v", tt.name, left)
		}
	}
}

// mustWriteSealed writes a file with the end of a backup.
func mustWriteSealed(t *testing.T, file string, text []byte) {
	t.Helper()
	sum := sha256.Sum256(text)
	if err := os.WriteFile(file, append(bytes.Clone(text), backupTail(sum[:])...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBackupOfAnotherPast holds that the logs in a backup are compared with its manifest.
func TestBackupOfAnotherPast(t *testing.T) {
	file, _ := ledgetest.MustBackUp(t, ledgetest.NewFolder(t))
	rewriteBackup(t, file, func(name string, content []byte) (string, []byte) {
		if name == manifestName {
			var m manifest
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
	file, _ := ledgetest.MustBackUp(t, ledgetest.NewFolder(t))
	fronts := map[string]json.RawMessage{}
	rewriteBackup(t, file, func(name string, content []byte) (string, []byte) {
		stream, isStart := strings.CutSuffix(strings.TrimPrefix(name, startPrefix), ".manifest")
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
		if err != nil || h.Name == sumsName {
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
		if !strings.HasPrefix(h.Name, bodyPrefix) {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), h.Name)
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: sumsName, Size: int64(sums.Len())}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(sums.Bytes())
	_ = w.Flush()
	mustWriteSealed(t, file, b.Bytes())
}
