//go:build unix

package main

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModes holds that other users can neither enter what Ledge makes nor read it, and that a payload folder of an earlier version
// is closed to them at a start.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	mustDo(t, os.MkdirAll(filepath.Join(dir, "payloads"), 0o755))
	mustDo(t, os.Chmod(filepath.Join(dir, "payloads"), 0o755))
	mustDo(t, os.Chmod(dir, 0o777))
	p := start(t, dir)
	p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", largeBody)
	warned := "every user of this machine may write to the folder " + dir + " (mode drwxrwxrwx)"
	p.waitLog(warned)
	if got := p.call(http.MethodGet, p.metadata+"/api/v2/health", "", ""); !strings.Contains(got.body, warned) {
		t.Errorf("health: got %s", got.body)
	}
	mustDo(t, os.Chmod(dir, 0o700))
	if got := p.call(http.MethodGet, p.metadata+"/api/v2/health", "", ""); got.status != http.StatusOK || strings.Contains(got.body, warned) {
		t.Errorf("health of a folder that is closed: got %s", got.body)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a temporary file
			return nil
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		seen++
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil || seen < 20 {
		t.Errorf("%d files and folders, %v", seen, err)
	}
	if bodies, err := os.ReadDir(filepath.Join(dir, "payloads")); err != nil || len(bodies) != 1 {
		t.Errorf("payloads: %v, %v", bodies, err)
	}
}
