package identities

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ledge/domain"
)

// TestHashWithoutEvent starts after a crash between the hash and the event, and between the event and the removal of the old hash.
func TestHashWithoutEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, i := mustOpenIdentities(t, dir)
	mustDo(t, i.AddUser(t.Context(), "cli:me", "anna", domain.Viewer, "first-secret", false))
	u, _ := i.User("anna")
	hash, _ := i.Secrets.Credential(u.Credential)
	mustDo(t, i.Secrets.PutCredential("never-named", "hash"))
	mustDo(t, d.Close())

	d, i = mustOpenIdentities(t, dir)
	mustDo(t, i.Sweep())
	if _, ok := i.Secrets.Credential("never-named"); ok {
		t.Error("the hash without an event is still there")
	}
	if got, ok := i.Secrets.Credential(u.Credential); !ok || got != hash {
		t.Errorf("got hash %q, %t, want that of the password on record", got, ok)
	}
	wantRefusedWithoutHash(t, i)
	mustDo(t, d.Close())
}

// wantRefusedWithoutHash holds that a refused command leaves no hash.
func wantRefusedWithoutHash(t *testing.T, i *Identities) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(i.dir, "secrets.json"))
	mustDo(t, err)
	if err := i.AddUser(t.Context(), "cli:me", "anna", domain.Viewer, "first-secret", false); domain.CodeOf(err) != domain.Conflict {
		t.Errorf("got %v, want a conflict", err)
	}
	if after, err := os.ReadFile(filepath.Join(i.dir, "secrets.json")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the secret store has changed: %v", err)
	}
}

func TestTokenUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, i := mustOpenIdentities(t, dir)
	_, err := i.AddToken(t.Context(), "cli:me", domain.Token{Name: "pos-7", Role: domain.Poster})
	mustDo(t, err)
	at := time.UnixMilli(1_700_000_000_000)
	i.Uses.Used("pos-7", at.Add(time.Hour))
	i.Uses.Used("pos-7", at) // the clock was set back
	i.Uses.Used("gone", at)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_ = i.KeepTokenUses(ctx)
	mustDo(t, d.Close())

	d, i = mustOpenIdentities(t, dir)
	if got := i.Uses.Last("pos-7"); got != at.UnixMilli() {
		t.Errorf("got %d, want %d", got, at.UnixMilli())
	}
	if got := i.Uses.Last("gone"); got != 0 {
		t.Errorf("a revoked token was last used at %d", got)
	}
	mustDo(t, d.Close())
}

// TestRetiredHashes holds that an old hash outlives the change for a while, and not longer.
func TestRetiredHashes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, i := mustOpenIdentities(t, dir)
	mustDo(t, i.AddUser(t.Context(), "cli:me", "anna", domain.Viewer, "first-secret", false))
	_, err := i.AddToken(t.Context(), "cli:me", domain.Token{Name: "pos-7", Role: domain.Poster})
	mustDo(t, err)
	u, _ := i.User("anna")
	token, _ := i.Token("pos-7")
	has := func(id string) bool { _, ok := i.Secrets.Credential(id); return ok }
	mustDo(t, i.SetPassword(t.Context(), "cli:me", "anna", "another-secret", false))
	mustDo(t, i.RemoveToken(t.Context(), "cli:me", "pos-7"))
	mustDo(t, i.removeRetired(i.now().Add(-keepRetired)))
	if !has(u.Credential) || !has(token.Credential) {
		t.Error("an old hash has gone with its event: a backup that ends before the event would be without it")
	}
	mustDo(t, i.removeRetired(i.now().Add(time.Second)))
	if has(u.Credential) || has(token.Credential) {
		t.Error("an old hash is kept for good")
	}
	if u, _ := i.User("anna"); !has(u.Credential) {
		t.Error("the hash that is in use has gone")
	}
	mustDo(t, d.Close())
}
