package main

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/domain"

	"github.com/nats-io/nats.go"
)

// TestSecretScan makes a secret of each kind, right and wrong ones, and looks for them wherever Ledge says something: answers, the tap, the
// commands, a backup, the log at the level debug, and the stacks that a crash prints.
func TestSecretScan(t *testing.T) {
	t.Parallel()
	s := startSecured(t, "--log-level", "debug")
	admin := strings.TrimSpace(mustRead(t, filepath.Join(s.dir, "admin-password")))
	const password, wrong = "pass-4711-not-to-be-seen", "wrong-4711-not-to-be-seen"
	wrongToken := "ledge_a-viewer_" + strings.Repeat("Q", 26)
	session, _ := s.login("admin", admin)
	jwt := "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLTQ3MTE"
	secrets := []string{admin, password, wrong, wrongToken, session, jwt, mailPassword, "argon2id"}
	for _, token := range s.tokens {
		secrets = append(secrets, token)
	}
	texts := s.tapTexts(t, func() { s.useSecrets(t, password, wrong, wrongToken, jwt, admin) })
	token := s.tokens[domain.Admin]
	for _, service := range []string{s.metadata, s.coreData, s.deviceREST, s.notifications} {
		for _, path := range []string{"/api/v2/config", "/metrics", "/api/v2/metrics", "/api/v2/health", "/api/v2/version"} {
			texts[service+path] = s.send(token, http.MethodGet, service+path, "", "").body
		}
		for _, bad := range []string{wrongToken, jwt, wrong, s.tokens[domain.Poster]} {
			for _, path := range []string{"/api/v2/config", "/api/v2/" + wrongPath} {
				texts[service+path+" with "+bad[:10]] = s.send(bad, http.MethodGet, service+path, "", "").body
			}
		}
		_, a := s.login("admin", wrong)
		texts[service+" login"] = a.body
		texts[service+" bad login"] = s.send("", http.MethodPost, service+"/api/v2/login", "application/json", `{"username":"admin","password":"`+wrong+`"`).body
		texts[service+" bad secret"] = s.send(token, http.MethodPost, service+"/api/v2/secret", "application/json", `{"path":"smtp","secretData":"`+mailPassword+`"}`).body
	}
	for _, command := range []string{"log", "user list", "user list --json", "token list", "token list --json", "verify", "config"} {
		texts["ledge "+command] = s.ledge(t, strings.Fields(command)...)
	}
	backup := filepath.Join(t.TempDir(), "ledge.backup")
	texts["ledge backup"] = s.ledge(t, "backup", backup)
	backupTexts(t, backup, texts)
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // as a crash does, it prints the stacks of all goroutines
	s.wait()
	if texts["log and stacks"] = s.log.String(); !strings.Contains(texts["log and stacks"], "goroutine ") {
		t.Error("the program has printed no stacks")
	}
	for name, text := range texts {
		if text == "" {
			t.Errorf("%s is empty", name)
		}
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s has a secret: …%.200s", name, text[max(0, i-80):])
			}
		}
	}
}

const wrongPath = "no-such-path"

// useSecrets sends each secret to where it belongs, and wrong ones too.
func (s *secured) useSecrets(t *testing.T, password, wrong, wrongToken, jwt, admin string) {
	t.Helper()
	file := mustWriteFile(t, "password", password+"\n")
	s.ledge(t, "user", "add", "anna", "--role", "operator", "--password-file", file)
	s.ledge(t, "user", "passwd", "admin", "--password-file", file)
	if _, a := s.login("anna", password); a.status != http.StatusOK {
		t.Errorf("login: %d %s", a.status, a.body)
	}
	for _, p := range []string{wrong, admin} {
		if _, a := s.login("admin", p); a.status != http.StatusUnauthorized {
			t.Errorf("login with a wrong password: %d %s", a.status, a.body)
		}
	}
	body := `{"apiVersion":"v2","path":"smtp","secretData":[{"key":"password","value":"` + mailPassword + `"}]}`
	if a := s.send(s.tokens[domain.Operator], http.MethodPost, s.notifications+"/api/v2/secret", "application/json", body); a.status != http.StatusCreated {
		t.Errorf("store a secret: %d %s", a.status, a.body)
	}
	for _, token := range []string{wrongToken, jwt} {
		if _, err := s.tapAs(t, token); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("a wrong token at the tap: %v", err)
		}
	}
}

// tapTexts returns all that an auditor sees at the tap while do runs, by subject.
func (s *secured) tapTexts(t *testing.T, do func()) map[string]string {
	t.Helper()
	nc, err := s.tapAs(t, s.tokens[domain.Auditor])
	if err != nil {
		t.Fatal(err)
	}
	var sub *nats.Subscription
	if sub, err = nc.SubscribeSync("ledge.>"); err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	do()
	texts := map[string]string{}
	for texts["tap ledge.event.user.admin.password"] == "" {
		m, err := sub.NextMsg(hangs)
		if err != nil {
			t.Fatalf("the tap: %v, after %d events", err, len(texts))
		}
		texts["tap "+m.Subject] = m.Subject + string(m.Data)
	}
	return texts
}

// backupTexts adds the files of a backup, but for the secret store.
func backupTexts(t *testing.T, path string, texts map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stored := false
	for in := tar.NewReader(f); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var b []byte
		if err == nil {
			b, err = io.ReadAll(in)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == datadir.SecretsFile {
			stored = strings.Contains(string(b), mailPassword)
			continue
		}
		texts["backup "+h.Name] = h.Name + string(b)
	}
	if !stored {
		t.Error("the secret store in the backup does not have the secret, so that the scan shows nothing")
	}
}
