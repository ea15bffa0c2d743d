package ledgetest

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"

	"filippo.io/age"
)

// RunOn runs a command on a data folder with a standard input, and returns what it prints and its error.
func RunOn(t *testing.T, dir, input string, args ...string) (out, errs string, err error) {
	t.Helper()
	c := exec.Command(Binary, append(args, "--data-dir", dir, "--disk-reserve", "1MiB")...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err
}

// MustRunOn is RunOn for a command that must succeed.
func MustRunOn(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	out, errs, err := RunOn(t, dir, input, args...)
	if err != nil {
		t.Fatalf("ledge %v: %v\n%s", args, err, errs)
	}
	return out
}

// WantRunFails is RunOn for a command that must fail and say why.
func WantRunFails(t *testing.T, dir, input, says string, args ...string) {
	t.Helper()
	if out, errs, err := RunOn(t, dir, input, args...); err == nil || !strings.Contains(errs, says) {
		t.Errorf("ledge %v: got %v, %q, %q, want a failure with %q", args, err, out, errs, says)
	}
}

// WantNowhere scans all files of a folder but the secret store. What a scan can find, it finds: a name is on the log.
func WantNowhere(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	found := false
	MustDo(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == "secrets.json" {
			return err
		}
		text, err := os.ReadFile(path)
		found = found || bytes.Contains(text, []byte("user/anna/added"))
		for _, s := range secrets {
			if bytes.Contains(text, []byte(s)) {
				t.Errorf("%s has the secret %q", path, s)
			}
		}
		return err
	}))
	if !found {
		t.Error("the scan did not find what is on the log")
	}
}

// KeyFile returns a new key file, as age-keygen writes it.
func KeyFile(t *testing.T) string {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return MustWriteFile(t, "ledge-secret-key", "# public key: "+identity.Recipient().String()+"\n"+identity.String()+"\n")
}

// SetKey has the programs that are started from now on use a key file; "" stands for none.
func SetKey(t *testing.T, file string) {
	t.Helper()
	dir := ""
	if file != "" {
		dir = filepath.Dir(file)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
}

// WithSecret returns a data folder in which a server has stored a secret, and stopped.
func WithSecret(t *testing.T, key string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	SetKey(t, key)
	p := Start(t, dir)
	PostSecret(p, p.Notifications, "smtp", "password", Hidden)
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d: %s", code, p.Log)
	}
	return dir, filepath.Join(dir, "secrets.json")
}

// Refused starts a server that must exit, and returns its exit code and log.
func Refused(t *testing.T, dir, key string) (code int, log string) {
	t.Helper()
	SetKey(t, key)
	p := Launch(t, dir)
	code = p.Wait()
	return code, p.Log.String()
}

// Encrypted reports whether the secret store in a file is encrypted.
func Encrypted(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return !strings.Contains(string(text), Hidden) && strings.Contains(string(text), "age-encryption.org")
}

// Hidden is a secret that no answer, log or file may show.
const Hidden = "Zq9-not-to-be-seen-7Kx"

// PostSecret stores a secret with one key.
func PostSecret(p *Node, url, path, key, value string) Answer {
	p.TB.Helper()
	return p.Call(http.MethodPost, url+"/api/v2/secret", "application/json",
		fmt.Sprintf(`{"apiVersion":"v2","path":%q,"secretData":[{"key":%q,"value":%q}]}`, path, key, value))
}
