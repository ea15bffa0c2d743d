package security

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

	"github.com/nats-io/nats.go"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestSecretScan makes a secret of each kind, right and wrong ones, and looks for them wherever Ledge says something: answers, the bus, the
// commands, a backup, the log at the level debug, and the stacks that a crash prints.
func TestSecretScan(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t, "--log-level", "debug")
	admin := strings.TrimSpace(ledgetest.MustRead(t, filepath.Join(s.Dir, "admin-password")))
	const password, wrong = "pass-4711-not-to-be-seen", "wrong-4711-not-to-be-seen"
	wrongToken := "ledge_a-viewer_" + strings.Repeat("Q", 26)
	session, _ := s.Login("admin", admin)
	jwt := "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLTQ3MTE"
	secrets := []string{admin, password, wrong, wrongToken, session, jwt, ledgetest.MailPassword, "argon2id"}
	for _, token := range s.Tokens {
		secrets = append(secrets, token)
	}
	texts := tapTexts(s, t, func() { useSecrets(s, t, password, wrong, wrongToken, jwt, admin) })
	token := s.Tokens[domain.Admin]
	for _, service := range []string{s.Metadata, s.CoreData, s.DeviceREST, s.Notifications} {
		for _, path := range []string{"/api/v2/config", "/metrics", "/api/v2/metrics", "/api/v2/health", "/api/v2/version"} {
			texts[service+path] = s.Send(token, http.MethodGet, service+path, "", "").Body
		}
		for _, bad := range []string{wrongToken, jwt, wrong, s.Tokens[domain.Poster]} {
			for _, path := range []string{"/api/v2/config", "/api/v2/" + wrongPath} {
				texts[service+path+" with "+bad[:10]] = s.Send(bad, http.MethodGet, service+path, "", "").Body
			}
		}
		_, a := s.Login("admin", wrong)
		texts[service+" login"] = a.Body
		texts[service+" bad login"] = s.Send("", http.MethodPost, service+"/api/v2/login", "application/json", `{"username":"admin","password":"`+wrong+`"`).Body
		texts[service+" bad secret"] = s.Send(token, http.MethodPost, service+"/api/v2/secret", "application/json", `{"path":"smtp","secretData":"`+ledgetest.MailPassword+`"}`).Body
	}
	for _, command := range []string{"log", "user list", "user list --json", "token list", "token list --json", "verify", "config"} {
		texts["ledge "+command] = s.Ledge(t, strings.Fields(command)...)
	}
	backup := filepath.Join(t.TempDir(), "ledge.backup")
	texts["ledge backup"] = s.Ledge(t, "backup", backup)
	backupTexts(t, backup, texts)
	_ = s.Cmd.Process.Signal(syscall.SIGQUIT) // as a crash does, it prints the stacks of all goroutines
	s.Wait()
	if texts["log and stacks"] = s.Log.String(); !strings.Contains(texts["log and stacks"], "goroutine ") {
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
func useSecrets(s *ledgetest.Secured, t *testing.T, password, wrong, wrongToken, jwt, admin string) {
	t.Helper()
	file := ledgetest.MustWriteFile(t, "password", password+"\n")
	s.Ledge(t, "user", "add", "anna", "--role", "operator", "--password-file", file)
	s.Ledge(t, "user", "passwd", "admin", "--password-file", file)
	if _, a := s.Login("anna", password); a.Status != http.StatusOK {
		t.Errorf("login: %d %s", a.Status, a.Body)
	}
	for _, p := range []string{wrong, admin} {
		if _, a := s.Login("admin", p); a.Status != http.StatusUnauthorized {
			t.Errorf("login with a wrong password: %d %s", a.Status, a.Body)
		}
	}
	body := `{"apiVersion":"v2","path":"smtp","secretData":[{"key":"password","value":"` + ledgetest.MailPassword + `"}]}`
	if a := s.Send(s.Tokens[domain.Operator], http.MethodPost, s.Notifications+"/api/v2/secret", "application/json", body); a.Status != http.StatusCreated {
		t.Errorf("store a secret: %d %s", a.Status, a.Body)
	}
	for _, token := range []string{wrongToken, jwt} {
		if _, err := s.ConnectNATS(t, token); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("a wrong token at the bus: %v", err)
		}
	}
}

// tapTexts returns all that an auditor hears of the bus while do runs, by subject.
func tapTexts(s *ledgetest.Secured, t *testing.T, do func()) map[string]string {
	t.Helper()
	nc, err := s.ConnectNATS(t, s.Tokens[domain.Auditor])
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
	for texts["nats ledge.event.user.admin.password"] == "" {
		m, err := sub.NextMsg(ledgetest.Timeout)
		if err != nil {
			t.Fatalf("the bus: %v, after %d events", err, len(texts))
		}
		texts["nats "+m.Subject] = m.Subject + string(m.Data)
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
			stored = strings.Contains(string(b), ledgetest.MailPassword)
			continue
		}
		texts["backup "+h.Name] = h.Name + string(b)
	}
	if !stored {
		t.Error("the secret store in the backup does not have the secret, so that the scan shows nothing")
	}
}
