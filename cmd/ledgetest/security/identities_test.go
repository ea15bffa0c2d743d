package security

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/identities"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/server/servertest"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/handlers/identity"
	"ledge/store/secrets"
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
	WantRunFails(t, dir, "", "is not a lifetime", "token", "create", "x", "--expires", "90 days")
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

// mustOpenIdentities opens the users and tokens of a data folder as a server does.
func mustOpenIdentities(t *testing.T, c *config.Config) (*node.Node, *identities.Identities) {
	t.Helper()
	d := servertest.MustOpenNode(t, c)
	file, err := secrets.OpenWith(c.Paths().Secrets(), nil)
	ledgetest.MustDo(t, err)
	return d, identities.New(d, c.DataDir, file, d.Logger)
}

// TestBackupBesidePasswords changes passwords and tokens of a running server beside backups of it: each backup has the hash for each user and
// token of its log.
func TestBackupBesidePasswords(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	ledgetest.MustRunOn(t, dir, "first-secret\n", "user", "add", "anna")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			_, _, _ = ledgetest.RunOn(t, dir, fmt.Sprintf("first-secret-%d\n", n), "user", "passwd", "anna")
			_, _, _ = ledgetest.RunOn(t, dir, "", "token", "create", fmt.Sprint("pos-", n), "--role", "poster")
			_, _, _ = ledgetest.RunOn(t, dir, "", "token", "revoke", fmt.Sprint("pos-", n-1))
		}
	}()
	var folders []string
	for range 4 {
		file, _ := ledgetest.MustBackUp(t, dir)
		to := filepath.Join(t.TempDir(), "new")
		if out, errs, code := ledgetest.Run(t, "restore", file, to); code != exit.OK {
			t.Fatalf("%d\n%s%s", code, out, errs)
		}
		folders = append(folders, to)
	}
	close(stop)
	<-done
	p.Stop()
	for _, to := range folders {
		d, i := mustOpenIdentities(t, servertest.ConfigOf(t, "--data-dir", to, "--disk-reserve", "1MiB"))
		users, err := i.Users()
		ledgetest.MustDo(t, err)
		tokens, err := i.Tokens()
		ledgetest.MustDo(t, err)
		if len(users) != 2 {
			t.Errorf("got users %+v", users)
		}
		for _, u := range users {
			if _, ok := i.Secrets.Credential(u.Credential); !ok {
				t.Errorf("the backup has user %s without a password", u.Name)
			}
		}
		for _, token := range tokens {
			if _, ok := i.Secrets.Credential(token.Credential); !ok {
				t.Errorf("the backup has token %s without its hash", token.Name)
			}
		}
		ledgetest.MustDo(t, d.Close())
	}
}

// TestKillBesidePasswords kills a server while passwords are changed: after each kill, the password that the log names is the old one or the new one.
func TestKillBesidePasswords(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	ledgetest.MustRunOn(t, dir, "first-secret-0\n", "user", "add", "anna")
	now := "first-secret-0"
	for round := range 8 {
		next := fmt.Sprint("first-secret-", round+1)
		changed := make(chan error, 1)
		go func() {
			_, _, err := ledgetest.RunOn(t, dir, next+"\n", "user", "passwd", "anna")
			changed <- err
		}()
		time.Sleep(rand.N(200 * time.Millisecond)) // the kill comes at any point of the change
		p.Kill()
		acknowledged := <-changed == nil
		d, i := mustOpenIdentities(t, servertest.ConfigOf(t, "--data-dir", dir, "--disk-reserve", "1MiB"))
		ledgetest.MustDo(t, i.Sweep())
		u, _ := i.User("anna")
		hash, ok := i.Secrets.Credential(u.Credential)
		ledgetest.MustDo(t, d.Close())
		match := func(password string) bool {
			ok, err := argon2id.ComparePasswordAndHash(password, hash)
			return ok && err == nil
		}
		switch {
		case !ok:
			t.Fatalf("round %d: the log names a password that is not stored", round)
		case match(next):
			now = next
		case acknowledged || !match(now):
			t.Fatalf("round %d: acknowledged %t, and the password is not %s", round, acknowledged, next)
		}
		p = ledgetest.Start(t, dir)
	}
}
