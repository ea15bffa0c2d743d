package security

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/ledgetest"
	"ledge/handlers/identity"
)

// TestAdminPasswordFile follows the password of the first user from the first start to its change.
func TestAdminPasswordFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, datadir.AdminPasswordFile)
	p := ledgetest.Start(t, dir)
	info, err := os.Stat(file)
	ledgetest.MustDo(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, want 0600", info.Mode())
	}
	text, err := os.ReadFile(file)
	ledgetest.MustDo(t, err)
	p.Stop()
	if password := strings.TrimSpace(string(text)); len(password) < 20 || strings.Contains(p.Log.String(), password) {
		t.Errorf("password %q: want at least 20 characters, and not in the log of the server", password)
	}
	p = ledgetest.Start(t, dir)
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(text, again) {
		t.Errorf("after the second start: got %q, %v, want %q", again, err, text)
	}
	ledgetest.MustRunOn(t, dir, "another secret\n", "user", "passwd", "admin")
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is there after the password has changed")
	}
	p.Stop()
	ledgetest.MustDo(t, os.WriteFile(file, text, 0o600)) // as a crash just after the event leaves it
	p = ledgetest.Start(t, dir)
	if _, err := os.Stat(file); err == nil {
		t.Error("the file of the old password is there after a start")
	}
	p.Stop()
}

// TestAdminPasswordFromEnvironment writes no file and keeps the password out of everything.
func TestAdminPasswordFromEnvironment(t *testing.T) {
	t.Setenv("LEDGE_ADMIN_PASSWORD", "environment-secret")
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	body := p.Call(http.MethodGet, p.Metadata+"/api/v2/config", "", "").Body
	p.Stop()
	if strings.Contains(body, "environment-secret") || strings.Contains(p.Log.String(), "environment-secret") {
		t.Error("the password is in /config or in the log of the server")
	}
	if _, err := os.Stat(filepath.Join(dir, datadir.AdminPasswordFile)); err == nil {
		t.Error("there is a file of the password")
	}
	ledgetest.MustRunOn(t, dir, "first-secret\n", "user", "add", "anna")
	ledgetest.WantNowhere(t, dir, "environment-secret")
}

func TestTokenText(t *testing.T) {
	token, hash := identity.NewToken("a_b")
	if !strings.HasPrefix(token, "ledge_a_b_") || len(hash) != 64 {
		t.Errorf("got %q, %q", token, hash)
	}
}
