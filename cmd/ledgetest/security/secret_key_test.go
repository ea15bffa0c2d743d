package security

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/secure"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/store/secrets"
)

// startsWithSecret checks that a server starts with a key file and has the secret; an empty key stands for none.
func startsWithSecret(t *testing.T, dir, key string) {
	t.Helper()
	ledgetest.SetKey(t, key)
	p := ledgetest.Start(t, dir)
	p.Stop()
	cfg := &config.Config{DataDir: dir}
	f, err := secure.ReadSecrets(cfg.Paths())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Of(services.Notifications, nil).Use("smtp", domain.SecretUse{}); err == nil || strings.Contains(err.Error(), "there is no secret") {
		t.Errorf("got %v", err)
	}
}

// refused starts a server that must exit, and returns its exit code and log.
func refused(t *testing.T, dir, key string) (code int, log string) {
	t.Helper()
	ledgetest.SetKey(t, key)
	p := ledgetest.Launch(t, dir)
	code = p.Wait()
	return code, p.Log.String()
}

func encrypted(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return !strings.Contains(string(text), ledgetest.Hidden) && strings.Contains(string(text), "age-encryption.org")
}

// A key encrypts the store at the next start; no start without that key reads it, and none makes another in its place.
func TestSecretKey(t *testing.T) {
	dir, file := ledgetest.WithSecret(t, "")
	first, second := ledgetest.KeyFile(t), ledgetest.KeyFile(t)
	startsWithSecret(t, dir, first)
	if !encrypted(t, file) {
		t.Error("the first start with a key has not encrypted the store")
	}
	before := ledgetest.MustRead(t, file)
	for _, key := range []string{"", second} {
		if code, log := refused(t, dir, key); code != exit.Folder || !strings.Contains(log, "ledge-secret-key of $CREDENTIALS_DIRECTORY") || !strings.Contains(log, file) {
			t.Errorf("key %q: exit code %d, want %d; %s", key, code, exit.Folder, log)
		}
	}
	if ledgetest.MustRead(t, file) != before {
		t.Error("a refused start has changed the store")
	}
	if err := os.Chmod(first, 0o440); err != nil { // as systemd does with an access list
		t.Fatal(err)
	}
	startsWithSecret(t, dir, first)
}

func TestRekey(t *testing.T) {
	first, second := ledgetest.KeyFile(t), ledgetest.KeyFile(t)
	dir, file := ledgetest.WithSecret(t, first)
	for _, c := range []struct {
		old, next string
		code      int
		want      string
	}{
		{second, first, exit.Folder, "encrypted with another key"},
		{"", first, exit.Folder, "no key is given"},
		{first, second, exit.OK, "encrypted with the new key; make the credential ledge-secret-key of " + second},
		{second, "", exit.OK, "decrypted; start Ledge without the credential"},
	} {
		ledgetest.SetKey(t, c.old)
		out, log, code := ledgetest.Run(t, "secrets", "rekey", "--data-dir", dir, c.next)
		if code != c.code || !strings.Contains(out+log, c.want) {
			t.Errorf("exit code %d, want %d; %s%s, want %q", code, c.code, out, log, c.want)
		}
		if code == exit.OK {
			if encrypted(t, file) != (c.next != "") {
				t.Errorf("to %q: the store is not as it should be", c.next)
			}
			startsWithSecret(t, dir, c.next)
		}
	}
	if _, log, code := ledgetest.Run(t, "secrets", "rekey", "--data-dir", dir); code != exit.Usage || !strings.Contains(log, "write `ledge secrets rekey NEW`") {
		t.Errorf("without the new key: exit code %d, %s", code, log)
	}
	p := ledgetest.Start(t, dir)
	if _, log, code := ledgetest.Run(t, "secrets", "rekey", "--data-dir", dir, first); code != exit.InUse {
		t.Errorf("with a running server: exit code %d, %s", code, log)
	}
	p.Stop()
}

func TestSecretKeyFileIsRefused(t *testing.T) {
	dir, _ := ledgetest.WithSecret(t, "")
	open, inside, linked := ledgetest.KeyFile(t), filepath.Join(dir, "ledge-secret-key"), filepath.Join(t.TempDir(), "ledge-secret-key")
	ledgetest.MustDo(t, os.WriteFile(inside, []byte(ledgetest.MustRead(t, open)), 0o600))
	ledgetest.MustDo(t, os.Symlink(inside, linked))
	ledgetest.MustDo(t, os.Chmod(open, 0o604))
	folder := filepath.Join(t.TempDir(), "ledge-secret-key")
	ledgetest.MustDo(t, os.Mkdir(folder, 0o700))
	for path, want := range map[string]string{
		open: "run `chmod 600 " + open, inside: "is in the data folder", linked: "is in the data folder", folder: "is not a regular file",
		ledgetest.MustWriteFile(t, "ledge-secret-key", ""):                         "age-keygen -o FILE",
		ledgetest.MustWriteFile(t, "ledge-secret-key", strings.Repeat("#", 65537)): "is longer than 65536 bytes",
	} {
		if code, log := refused(t, dir, path); code != exit.Usage || !strings.Contains(log, "credential ledge-secret-key: ") || !strings.Contains(log, want) {
			t.Errorf("%s: exit code %d, want %d; %s, want %q", path, code, exit.Usage, log, want)
		}
	}
}

// Damage of an encrypted store is found by verify, with the key and without, and by a start.
func TestEncryptedStoreIsVerified(t *testing.T) {
	key := ledgetest.KeyFile(t)
	dir, file := ledgetest.WithSecret(t, key)
	for given, want := range map[string]string{key: "", "": "without the credential ledge-secret-key only its checksum is compared", ledgetest.KeyFile(t): "encrypted with another key"} {
		ledgetest.SetKey(t, given)
		out, log, code := ledgetest.Run(t, "verify", "--data-dir", dir)
		if code != exit.OK || want != "" && !strings.Contains(out, want) || want == "" && strings.Contains(out, "checksum is compared") {
			t.Errorf("verify: exit code %d, %s%s, want %q", code, out, log, want)
		}
	}
	whole := []byte(ledgetest.MustRead(t, file))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-20] ^= 4
	for what, text := range map[string][]byte{"a flipped bit": flipped, "a truncated file": whole[:len(whole)/2], "an empty file": {}} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, log := refused(t, dir, key); code != exit.Damaged || !strings.Contains(log, "ledge restore") {
			t.Errorf("%s: exit code %d, want %d; %s", what, code, exit.Damaged, log)
		}
		ledgetest.SetKey(t, "")
		if out, _, code := ledgetest.Run(t, "verify", "--data-dir", dir); code != exit.Damaged || !strings.Contains(out, "secrets.json: it is") {
			t.Errorf("%s: verify without the key: exit code %d, %s", what, code, out)
		}
	}
}

// A backup has the store as it is: encrypted. It is made and restored with the key and without.
func TestEncryptedStoreIsBackedUp(t *testing.T) {
	key := ledgetest.KeyFile(t)
	dir, file := ledgetest.WithSecret(t, key)
	for _, given := range []string{"", key} {
		backup, to := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
		ledgetest.SetKey(t, given)
		if _, log, code := ledgetest.Run(t, "backup", "--data-dir", dir, backup); code != exit.OK {
			t.Fatalf("backup: exit code %d, %s", code, log)
		}
		if strings.Contains(ledgetest.MustRead(t, backup), ledgetest.Hidden) {
			t.Error("the backup shows the secret")
		}
		if _, log, code := ledgetest.Run(t, "restore", backup, to); code != exit.OK {
			t.Fatalf("restore: exit code %d, %s", code, log)
		}
		if ledgetest.MustRead(t, filepath.Join(to, "secrets.json")) != ledgetest.MustRead(t, file) {
			t.Error("the restored store is another one")
		}
		startsWithSecret(t, to, key)
	}
}

// A kill while the store is encrypted for the first time leaves it as it was, or encrypted, and whole. The next start with the
// key leaves no text in the clear.
func TestKillDuringFirstEncryption(t *testing.T) {
	dir, file := ledgetest.WithSecret(t, "")
	f, err := secrets.OpenWith(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 { // so that it takes a while
		if err := f.PutCredential(string(rune('a'+i)), strings.Repeat("x", 5<<20)); err != nil {
			t.Fatal(err)
		}
	}
	plain, key, during := []byte(ledgetest.MustRead(t, file)), ledgetest.KeyFile(t), 0
	for range 12 {
		if err := os.WriteFile(file, plain, 0o600); err != nil {
			t.Fatal(err)
		}
		ledgetest.SetKey(t, key)
		p := ledgetest.Launch(t, dir)
		for deadline := time.Now().Add(ledgetest.Timeout); time.Now().Before(deadline); {
			if _, err := os.Stat(file + ".new"); err == nil {
				during++
				break
			}
			if info, err := os.Stat(file); err == nil && info.Size() != int64(len(plain)) {
				break
			}
			time.Sleep(100 * time.Microsecond) // `go test` keeps a record of each look
		}
		p.Kill()
		if !encrypted(t, file) && ledgetest.MustRead(t, file) != string(plain) {
			t.Fatal("the store is neither the old one nor encrypted")
		}
		startsWithSecret(t, dir, key)
		if !encrypted(t, file) {
			t.Fatal("the next start has not encrypted the store")
		}
		if _, err := os.Stat(file + ".new"); err == nil {
			t.Error("half a file is left")
		}
	}
	if during == 0 {
		t.Error("no kill came while the store was written")
	}
}
