package delivery

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// A secret is in secrets.json alone, whatever happened to it: no log line, no other file, no answer has it.
func TestSecretsAreNotShown(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--log-level", "debug")
	for _, url := range []string{p.Notifications, p.DeviceREST} {
		if a := ledgetest.PostSecret(p, url, "smtp", "password", ledgetest.Hidden); a.Status != http.StatusCreated || a.Body != `{"apiVersion":"v2","statusCode":201}`+"\n" {
			t.Errorf("%s: got %d %s", url, a.Status, a.Body)
		}
		for _, bad := range []ledgetest.Answer{
			ledgetest.PostSecret(p, url, "smtp", ledgetest.Hidden, ""), ledgetest.PostSecret(p, url, "", "password", ledgetest.Hidden),
			p.Call(http.MethodPost, url+"/api/v2/secret", "application/json", `{"apiVersion":"v2","path":"p","secretData":`+ledgetest.Hidden),
		} {
			if bad.Status != http.StatusBadRequest || strings.Contains(bad.Body, ledgetest.Hidden) {
				t.Errorf("%s: got %d %s", url, bad.Status, bad.Body)
			}
		}
	}
	if a := ledgetest.PostSecret(p, p.Metadata, "smtp", "password", "x"); a.Status != http.StatusNotFound {
		t.Errorf("core-metadata: got %d %s, want 404", a.Status, a.Body)
	}
	p.AddDevice("cam-1")
	for _, url := range []string{p.Metadata, p.Notifications, p.DeviceREST} {
		if a := p.Call(http.MethodGet, url+"/api/v2/config", "", ""); strings.Contains(a.Body, ledgetest.Hidden) {
			t.Errorf("%s: config shows the secret", url)
		}
	}
	if out, _, code := ledgetest.Run(t, "log", "--data-dir", dir); code != exit.OK || strings.Contains(out, ledgetest.Hidden) {
		t.Errorf("ledge log: exit code %d, %s", code, out)
	}
	p.Kill()
	again := ledgetest.Start(t, dir, "--log-level", "debug")
	holdsSecrets(t, dir)
	again.Stop()
	if strings.Contains(p.Log.String()+again.Log.String(), ledgetest.Hidden) {
		t.Error("the secret is in the process's log")
	}
	if !strings.Contains(p.Log.String(), `"msg":"secret stored","service":"support-notifications","path":"smtp"`) {
		t.Errorf("the log does not tell that a secret was stored: %s", p.Log)
	}
	holdsSecrets(t, dir)
}

// holdsSecrets holds that secrets.json has the secret for both services, and no other file has it.
func holdsSecrets(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, "secrets.json")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Secrets map[string]map[string]map[string]string
	}
	err = json.Unmarshal(b, &file)
	if kept := file.Secrets; err != nil || kept[services.Notifications]["smtp"]["password"] != ledgetest.Hidden || kept[services.DeviceREST]["smtp"]["password"] != ledgetest.Hidden {
		t.Errorf("kept %s, %v", b, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	onlyIn(t, dir, "secrets.json")
}

// onlyIn holds that no other file below dir has the secret.
func onlyIn(tb testing.TB, dir, name string) {
	tb.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type() == fs.ModeSocket {
			return err
		}
		b, err := os.ReadFile(path)
		has, right := strings.Contains(string(b), ledgetest.Hidden), path == filepath.Join(dir, name)
		if has && !right {
			tb.Errorf("%s has the secret", path)
		}
		found = found || has && right
		return err
	})
	if err != nil || !found {
		tb.Errorf("the secret is in %s: %v, %v", name, found, err)
	}
}

func TestSecretsForOthersToRead(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "secrets.json")
	if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	p := ledgetest.Launch(t, dir)
	if code := p.Wait(); code != exit.Folder || !strings.Contains(p.Log.String(), "run `chmod 600 "+name+"`") {
		t.Errorf("exit code %d, want %d; %s", code, exit.Folder, p.Log)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ledgetest.Start(t, dir)
}
