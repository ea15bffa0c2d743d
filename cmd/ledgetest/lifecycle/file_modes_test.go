//go:build unix

package lifecycle

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestModes holds that other users can neither enter what Ledge makes nor read it, and that a payload folder of an earlier version
// is closed to them at a start.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	ledgetest.MustDo(t, os.MkdirAll(filepath.Join(dir, "payloads"), 0o755))
	ledgetest.MustDo(t, os.Chmod(filepath.Join(dir, "payloads"), 0o755))
	ledgetest.MustDo(t, os.Chmod(dir, 0o777))
	p := ledgetest.Start(t, dir)
	p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", ledgetest.LargeBody)
	warned := "every user of this machine may write to the folder " + dir + " (mode drwxrwxrwx)"
	p.WaitLog(warned)
	if got := p.Call(http.MethodGet, p.Metadata+"/api/v2/health", "", ""); !strings.Contains(got.Body, warned) {
		t.Errorf("health: got %s", got.Body)
	}
	ledgetest.MustDo(t, os.Chmod(dir, 0o700))
	if got := p.Call(http.MethodGet, p.Metadata+"/api/v2/health", "", ""); got.Status != http.StatusOK || strings.Contains(got.Body, warned) {
		t.Errorf("health of a folder that is closed: got %s", got.Body)
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
