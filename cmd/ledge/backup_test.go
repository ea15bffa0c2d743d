package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

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
		{"a link", []*tar.Header{{Typeflag: tar.TypeSymlink, Name: "secrets.json", Linkname: "/etc/passwd"}}, "is not a plain file"},
		{"a hard link", []*tar.Header{{Typeflag: tar.TypeLink, Name: "secrets.json", Linkname: "/etc/passwd"}}, "is not a plain file"},
		{"a FIFO", []*tar.Header{{Typeflag: tar.TypeFifo, Name: "secrets.json"}}, "is not a plain file"},
		{"a folder", []*tar.Header{{Typeflag: tar.TypeDir, Name: "payloads/"}}, "is not a plain file"},
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
		ledgetest.MustWriteSealed(t, file, b.Bytes())
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
