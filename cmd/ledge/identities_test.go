package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/store/secrets"
)

// TestHashWithoutEvent starts after a crash between the hash and the event, and between the event and the removal of the old hash.
func TestHashWithoutEvent(t *testing.T) {
	t.Parallel()
	c := ledgetest.ConfigOf(t, "--data-dir", t.TempDir(), "--disk-reserve", "1MiB")
	d, i := mustOpenIdentities(t, c)
	ledgetest.MustDo(t, i.AddUser(t.Context(), "cli:me", "anna", domain.Viewer, "first-secret", false))
	u, _ := i.User("anna")
	hash, _ := i.secrets.Credential(u.Credential)
	ledgetest.MustDo(t, i.secrets.PutCredential("never-named", "hash"))
	ledgetest.MustDo(t, d.Close())

	d, i = mustOpenIdentities(t, c)
	ledgetest.MustDo(t, i.sweep())
	if _, ok := i.secrets.Credential("never-named"); ok {
		t.Error("the hash without an event is still there")
	}
	if got, ok := i.secrets.Credential(u.Credential); !ok || got != hash {
		t.Errorf("got hash %q, %t, want that of the password on record", got, ok)
	}
	wantRefusedWithoutHash(t, i)
	ledgetest.MustDo(t, d.Close())
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
	c := ledgetest.ConfigOf(t, "--data-dir", t.TempDir(), "--disk-reserve", "1MiB")
	d, i := mustOpenIdentities(t, c)
	_, err := i.AddToken(t.Context(), "cli:me", domain.Token{Name: "pos-7", Role: domain.Poster})
	ledgetest.MustDo(t, err)
	at := time.UnixMilli(1_700_000_000_000)
	i.uses.Used("pos-7", at.Add(time.Hour))
	i.uses.Used("pos-7", at) // the clock was set back
	i.uses.Used("gone", at)
	done := make(chan struct{})
	close(done)
	i.keepTokenUses(done, d.Logger)
	ledgetest.MustDo(t, d.Close())

	d, i = mustOpenIdentities(t, c)
	if got := i.uses.Last("pos-7"); got != at.UnixMilli() {
		t.Errorf("got %d, want %d", got, at.UnixMilli())
	}
	if got := i.uses.Last("gone"); got != 0 {
		t.Errorf("a revoked token was last used at %d", got)
	}
	ledgetest.MustDo(t, d.Close())
}

// mustOpenIdentities opens the users and tokens of a data folder as a server does.
func mustOpenIdentities(t *testing.T, c *config.Config) (*node.Node, *identities) {
	t.Helper()
	d := mustOpenData(t, c)
	file, err := secrets.OpenWith(c.Paths().Secrets(), nil)
	ledgetest.MustDo(t, err)
	return d, openIdentities(d, c, file, d.Logger)
}

// TestRetiredHashes holds that an old hash outlives the change for a while, and not longer.
func TestRetiredHashes(t *testing.T) {
	t.Parallel()
	c := ledgetest.ConfigOf(t, "--data-dir", t.TempDir(), "--disk-reserve", "1MiB")
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
	ledgetest.MustDo(t, d.Close())
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
		d, i := mustOpenIdentities(t, ledgetest.ConfigOf(t, "--data-dir", to, "--disk-reserve", "1MiB"))
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
		d, i := mustOpenIdentities(t, ledgetest.ConfigOf(t, "--data-dir", dir, "--disk-reserve", "1MiB"))
		ledgetest.MustDo(t, i.sweep())
		u, _ := i.User("anna")
		hash, ok := i.secrets.Credential(u.Credential)
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
