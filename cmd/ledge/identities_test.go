package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/store/secrets"
)

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
			for _, want := range []string{"user anna added  by cli:" + ownName(), "user anna updated", "user anna password", "user ben removed", "token pos-7 added", "token pos-7 removed"} {
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
	ledgetest.WantRunFails(t, dir, "another-secret\n", "exists already", "user", "add", "anna")
	ledgetest.WantRunFails(t, dir, "\n", "is empty", "user", "add", "zoe")
	ledgetest.MustRunOn(t, dir, "", "user", "role", "anna", "--role", "auditor")
	ledgetest.WantRunFails(t, dir, "", `role: "root" is unknown`, "user", "role", "anna", "--role", "root")
	file := filepath.Join(t.TempDir(), "password")
	ledgetest.MustDo(t, os.WriteFile(file, []byte("second-secret\n"), 0o600))
	ledgetest.MustRunOn(t, dir, "", "user", "passwd", "anna", "--password-file", file)
	ledgetest.MustRunOn(t, dir, "", "user", "remove", "ben")
	ledgetest.WantRunFails(t, dir, "", "is the last one with the role admin", "user", "remove", "admin")
	ledgetest.WantRunFails(t, dir, "", "is the last one with the role admin", "user", "role", "admin", "--role", "viewer")
	var users []userEntry
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
	ledgetest.WantRunFails(t, dir, "", "is no lifetime", "token", "create", "x", "--expires", "90 days")
	var tokens []tokenEntry
	ledgetest.MustDo(t, json.Unmarshal([]byte(ledgetest.MustRunOn(t, dir, "", "token", "list", "--json")), &tokens))
	if len(tokens) != 2 || !tokens[0].Certificate || len(tokens[1].Devices) != 2 || tokens[1].Expires-tokens[1].Created > 90*24*time.Hour.Milliseconds() {
		t.Errorf("got tokens %+v", tokens)
	}
	ledgetest.MustRunOn(t, dir, "", "token", "revoke", "pos-7")
	ledgetest.WantRunFails(t, dir, "", `token "pos-7" does not exist`, "token", "revoke", "pos-7")
	return token
}

// TestHashWithoutEvent starts after a crash between the hash and the event, and between the event and the removal of the old hash.
func TestHashWithoutEvent(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir(), "--disk-reserve", "1MiB")
	d, i := mustOpenIdentities(t, c)
	ledgetest.MustDo(t, i.AddUser(t.Context(), "cli:me", "anna", domain.Viewer, "first-secret", false))
	u, _ := i.User("anna")
	hash, _ := i.secrets.Credential(u.Credential)
	ledgetest.MustDo(t, i.secrets.PutCredential("never-named", "hash"))
	ledgetest.MustDo(t, d.close())

	d, i = mustOpenIdentities(t, c)
	ledgetest.MustDo(t, i.sweep())
	if _, ok := i.secrets.Credential("never-named"); ok {
		t.Error("the hash without an event is still there")
	}
	if got, ok := i.secrets.Credential(u.Credential); !ok || got != hash {
		t.Errorf("got hash %q, %t, want that of the password on record", got, ok)
	}
	wantRefusedWithoutHash(t, i)
	ledgetest.MustDo(t, d.close())
}

// wantRefusedWithoutHash holds that a refused command leaves no hash.
func wantRefusedWithoutHash(t *testing.T, i *identities) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(i.dir, "secrets.json"))
	ledgetest.MustDo(t, err)
	if err := i.AddUser(t.Context(), "cli:me", "anna", domain.Viewer, "first-secret", false); domain.CodeOf(err) != domain.Conflict {
		t.Errorf("got %v, want a conflict", err)
	}
	if after, err := os.ReadFile(filepath.Join(i.dir, "secrets.json")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the secret store has changed: %v", err)
	}
}

func TestTokenUses(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir(), "--disk-reserve", "1MiB")
	d, i := mustOpenIdentities(t, c)
	_, err := i.AddToken(t.Context(), "cli:me", domain.Token{Name: "pos-7", Role: domain.Poster})
	ledgetest.MustDo(t, err)
	at := time.UnixMilli(1_700_000_000_000)
	i.uses.Used("pos-7", at.Add(time.Hour))
	i.uses.Used("pos-7", at) // the clock was set back
	i.uses.Used("gone", at)
	done := make(chan struct{})
	close(done)
	i.keepTokenUses(done, d.logger)
	ledgetest.MustDo(t, d.close())

	d, i = mustOpenIdentities(t, c)
	if got := i.uses.Last("pos-7"); got != at.UnixMilli() {
		t.Errorf("got %d, want %d", got, at.UnixMilli())
	}
	if got := i.uses.Last("gone"); got != 0 {
		t.Errorf("a revoked token was last used at %d", got)
	}
	ledgetest.MustDo(t, d.close())
}

// mustOpenIdentities opens the users and tokens of a data folder as a server does.
func mustOpenIdentities(t *testing.T, c *Config) (*data, *identities) {
	t.Helper()
	d := mustOpenData(t, c)
	file, err := secrets.OpenWith(c.secretsPath(), nil)
	ledgetest.MustDo(t, err)
	return d, d.identities(c, file, d.logger)
}

// TestRetiredHashes holds that an old hash outlives the change for a while, and not longer.
func TestRetiredHashes(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir(), "--disk-reserve", "1MiB")
	d, i := mustOpenIdentities(t, c)
	ledgetest.MustDo(t, i.AddUser(t.Context(), "cli:me", "anna", domain.Viewer, "first-secret", false))
	_, err := i.AddToken(t.Context(), "cli:me", domain.Token{Name: "pos-7", Role: domain.Poster})
	ledgetest.MustDo(t, err)
	u, _ := i.User("anna")
	token, _ := i.Token("pos-7")
	has := func(id string) bool { _, ok := i.secrets.Credential(id); return ok }
	ledgetest.MustDo(t, i.SetPassword(t.Context(), "cli:me", "anna", "another-secret", false))
	ledgetest.MustDo(t, i.RemoveToken(t.Context(), "cli:me", "pos-7"))
	ledgetest.MustDo(t, i.removeRetired(i.now().Add(-keepRetired)))
	if !has(u.Credential) || !has(token.Credential) {
		t.Error("an old hash has gone with its event: a backup that ends before the event would be without it")
	}
	ledgetest.MustDo(t, i.removeRetired(i.now().Add(time.Second)))
	if has(u.Credential) || has(token.Credential) {
		t.Error("an old hash is kept for good")
	}
	if u, _ := i.User("anna"); !has(u.Credential) {
		t.Error("the hash that is in use has gone")
	}
	ledgetest.MustDo(t, d.close())
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
		d, i := mustOpenIdentities(t, configOf(t, "--data-dir", to, "--disk-reserve", "1MiB"))
		users, err := i.Users()
		ledgetest.MustDo(t, err)
		tokens, err := i.Tokens()
		ledgetest.MustDo(t, err)
		if len(users) != 2 {
			t.Errorf("got users %+v", users)
		}
		for _, u := range users {
			if _, ok := i.secrets.Credential(u.Credential); !ok {
				t.Errorf("the backup has user %s without a password", u.Name)
			}
		}
		for _, token := range tokens {
			if _, ok := i.secrets.Credential(token.Credential); !ok {
				t.Errorf("the backup has token %s without its hash", token.Name)
			}
		}
		ledgetest.MustDo(t, d.close())
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
		d, i := mustOpenIdentities(t, configOf(t, "--data-dir", dir, "--disk-reserve", "1MiB"))
		ledgetest.MustDo(t, i.sweep())
		u, _ := i.User("anna")
		hash, ok := i.secrets.Credential(u.Credential)
		ledgetest.MustDo(t, d.close())
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
