package damage

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestLoginsEndAtRestore removes a user and a token after a backup, and restores it. Before, the user's login was valid in the restored folder
// again, and nothing said that both were back.
func TestLoginsEndAtRestore(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	s.Ledge(t, "user", "add", "anna", "--role", "operator", "--password-file", ledgetest.MustWriteFile(t, "password", "pass-4711-of-anna\n"))
	login, _ := s.Login("anna", "pass-4711-of-anna")
	file := filepath.Join(t.TempDir(), "ledge.backup")
	s.Ledge(t, "backup", file)
	s.Ledge(t, "user", "remove", "anna")
	s.Ledge(t, "token", "revoke", "a-poster")
	s.Stop()
	restored := filepath.Join(t.TempDir(), "restored")
	out, errs, code := ledgetest.Run(t, "restore", file, restored)
	if code != exit.OK {
		t.Fatalf("ledge restore: exit code %d: %s", code, errs)
	}
	for _, want := range []string{"no login from before is valid", "ledge user remove", "ledge token revoke", "user anna, operator\n", "token a-poster, poster\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("ledge restore does not say %q:\n%s", want, out)
		}
	}
	salvaged := filepath.Join(t.TempDir(), "salvaged")
	if _, errs, code := ledgetest.Run(t, "salvage", "--data-dir", restored, salvaged); code != exit.OK {
		t.Fatalf("ledge salvage: exit code %d: %s", code, errs)
	}
	for _, dir := range []string{restored, salvaged} {
		var again string
		for range 2 { // and once more after a restart
			r := &ledgetest.Secured{Node: ledgetest.Start(t, dir, "--secure")}
			r.Trust(t)
			for _, token := range []string{login, again} {
				want := http.StatusUnauthorized
				if token == again && token != "" {
					want = http.StatusOK
				}
				if a := r.Send(token, http.MethodGet, r.Metadata+"/api/v2/device/all", "", ""); token != "" && a.Status != want {
					t.Errorf("%s: got %d %s, want %d", filepath.Base(dir), a.Status, a.Body, want)
				}
			}
			if again == "" {
				again, _ = r.Login("anna", "pass-4711-of-anna")
			}
			r.Stop()
		}
	}
}
