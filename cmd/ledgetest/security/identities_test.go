package security

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/handlers/identity"
)

func WantRunFails(t *testing.T, dir, input, says string, args ...string) {
	t.Helper()
	if out, errs, err := ledgetest.RunOn(t, dir, input, args...); err == nil || !strings.Contains(errs, says) {
		t.Errorf("ledge %v: got %v, %q, %q, want a failure with %q", args, err, out, errs, says)
	}
}

// TestUsersAndTokens does the same on a running and on a stopped server.
func TestUsersAndTokens(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"running": true, "stopped": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := ledgetest.Start(t, dir)
			if !running {
				p.Stop()
			}
			token := administerEverything(t, dir)
			if running {
				p.Stop()
			}
			log := ledgetest.MustRunOn(t, dir, "", "log")
			for _, want := range []string{"user anna added  by " + admin.LocalActor(), "user anna updated", "user anna password", "user ben removed", "token pos-7 added", "token pos-7 removed"} {
				if !strings.Contains(log, want) {
					t.Errorf("the log does not have %q:\n%s", want, log)
				}
			}
			ledgetest.WantNowhere(t, dir, "first-secret", "second-secret", token, token[strings.LastIndexByte(token, '_')+1:])
			if left, err := filepath.Glob(filepath.Join(dir, datadir.AdminSocketFile)); err != nil || len(left) > 0 {
				t.Errorf("the stop left %v, %v", left, err)
			}
		})
	}
}

// administerEverything does what the commands can, and returns a token.
func administerEverything(t *testing.T, dir string) string {
	t.Helper()
	ledgetest.MustRunOn(t, dir, "first-secret\n", "user", "add", "anna", "--role", "operator")
	ledgetest.MustRunOn(t, dir, "first-secret\n", "user", "add", "ben")
	WantRunFails(t, dir, "another-secret\n", "exists already", "user", "add", "anna")
	WantRunFails(t, dir, "\n", "is empty", "user", "add", "zoe")
	ledgetest.MustRunOn(t, dir, "", "user", "role", "anna", "--role", "auditor")
	WantRunFails(t, dir, "", `role: "root" is unknown`, "user", "role", "anna", "--role", "root")
	file := filepath.Join(t.TempDir(), "password")
	ledgetest.MustDo(t, os.WriteFile(file, []byte("second-secret\n"), 0o600))
	ledgetest.MustRunOn(t, dir, "", "user", "passwd", "anna", "--password-file", file)
	ledgetest.MustRunOn(t, dir, "", "user", "remove", "ben")
	WantRunFails(t, dir, "", "is the last one with the role admin", "user", "remove", "admin")
	WantRunFails(t, dir, "", "is the last one with the role admin", "user", "role", "admin", "--role", "viewer")
	var users []admin.User
	ledgetest.MustDo(t, json.Unmarshal([]byte(ledgetest.MustRunOn(t, dir, "", "user", "list", "--json")), &users))
	if len(users) != 2 || users[0].Name != "anna" || users[0].Role != domain.Auditor || users[1].Name != "admin" || !users[1].MustChange {
		t.Errorf("got users %+v", users)
	}
	if table := ledgetest.MustRunOn(t, dir, "", "user", "list"); !strings.Contains(table, "anna   auditor") {
		t.Errorf("got table\n%s", table)
	}
	token := strings.TrimSpace(ledgetest.MustRunOn(t, dir, "", "token", "create", "pos-7", "--role", "poster", "--devices", "cam-*,door-1", "--expires", "90d"))
	if !strings.HasPrefix(token, "ledge_pos-7_") {
		t.Errorf("got token %q", token)
	}
	if out := ledgetest.MustRunOn(t, dir, "", "token", "create", "cam-1", "--certificate"); out != "" {
		t.Errorf("a certificate has the secret %q", out)
	}
	WantRunFails(t, dir, "", "is no lifetime", "token", "create", "x", "--expires", "90 days")
	var tokens []admin.Token
	ledgetest.MustDo(t, json.Unmarshal([]byte(ledgetest.MustRunOn(t, dir, "", "token", "list", "--json")), &tokens))
	if len(tokens) != 2 || !tokens[0].Certificate || len(tokens[1].Devices) != 2 || tokens[1].Expires-tokens[1].Created > 90*24*time.Hour.Milliseconds() {
		t.Errorf("got tokens %+v", tokens)
	}
	ledgetest.MustRunOn(t, dir, "", "token", "revoke", "pos-7")
	WantRunFails(t, dir, "", `token "pos-7" does not exist`, "token", "revoke", "pos-7")
	return token
}

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
