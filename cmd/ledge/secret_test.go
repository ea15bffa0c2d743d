package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
)

const hidden = "Zq9-not-to-be-seen-7Kx"

func (p *process) postSecret(url, path, key, value string) answer {
	p.tb.Helper()
	return p.call(http.MethodPost, url+"/api/v2/secret", "application/json",
		fmt.Sprintf(`{"apiVersion":"v2","path":%q,"secretData":[{"key":%q,"value":%q}]}`, path, key, value))
}

// A secret is in secrets.json alone, whatever happened to it: no log line, no other file, no answer has it.
func TestSecretsAreNotShown(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "--log-level", "debug")
	for _, url := range []string{p.notifications, p.deviceREST} {
		if a := p.postSecret(url, "smtp", "password", hidden); a.status != http.StatusCreated || a.body != `{"apiVersion":"v2","statusCode":201}`+"\n" {
			t.Errorf("%s: got %d %s", url, a.status, a.body)
		}
		for _, bad := range []answer{
			p.postSecret(url, "smtp", hidden, ""), p.postSecret(url, "", "password", hidden),
			p.call(http.MethodPost, url+"/api/v2/secret", "application/json", `{"apiVersion":"v2","path":"p","secretData":`+hidden),
		} {
			if bad.status != http.StatusBadRequest || strings.Contains(bad.body, hidden) {
				t.Errorf("%s: got %d %s", url, bad.status, bad.body)
			}
		}
	}
	if a := p.postSecret(p.metadata, "smtp", "password", "x"); a.status != http.StatusNotFound {
		t.Errorf("core-metadata: got %d %s, want 404", a.status, a.body)
	}
	p.addDevice("cam-1")
	for _, url := range []string{p.metadata, p.notifications, p.deviceREST} {
		if a := p.call(http.MethodGet, url+"/api/v2/config", "", ""); strings.Contains(a.body, hidden) {
			t.Errorf("%s: config shows the secret", url)
		}
	}
	if out, _, code := ledge(t, "log", "--data-dir", dir); code != exit.OK || strings.Contains(out, hidden) {
		t.Errorf("ledge log: exit code %d, %s", code, out)
	}
	p.kill()
	again := start(t, dir, "--log-level", "debug")
	holdsSecrets(t, dir)
	again.stop()
	if strings.Contains(p.log.String()+again.log.String(), hidden) {
		t.Error("the secret is in the process's log")
	}
	if !strings.Contains(p.log.String(), `"msg":"secret stored","service":"support-notifications","path":"smtp"`) {
		t.Errorf("the log does not tell that a secret was stored: %s", p.log)
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
	if kept := file.Secrets; err != nil || kept[services.Notifications]["smtp"]["password"] != hidden || kept[services.DeviceREST]["smtp"]["password"] != hidden {
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
		has, right := strings.Contains(string(b), hidden), path == filepath.Join(dir, name)
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
	p := launch(t, dir)
	if code := p.wait(); code != exit.Folder || !strings.Contains(p.log.String(), "run `chmod 600 "+name+"`") {
		t.Errorf("exit code %d, want %d; %s", code, exit.Folder, p.log)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
}
